internal import CommandLineKit
internal import Glibc

@main
struct Main {
    static func main() {
        Output.openClosedFiles()
        exit(CommandLineProgram.run(ProcessWords.read))
    }
}
