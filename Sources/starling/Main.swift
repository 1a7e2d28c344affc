internal import CommandLineKit
internal import Glibc

@main
struct Main {
    static func main() {
        exit(CommandLineProgram.run(ProcessWords.read))
    }
}
