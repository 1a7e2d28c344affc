internal import Glibc

@main
struct Main {
    static func main() { exit(DaemonProgram.run(Array(CommandLine.arguments.dropFirst()))) }
}
