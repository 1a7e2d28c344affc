internal import Glibc

@main
struct Main {
    static func main() {
        exit(CommandLineProgram.run(Array(CommandLine.arguments.dropFirst())))
    }
}
