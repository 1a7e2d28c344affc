internal import CommandLineKit
internal import Glibc

@main
struct Main {
    static func main() { exit(DaemonProgram.run(ProcessWords.read)) }
}
