internal import CommandLineKit
internal import ControlAPI
internal import ControlClient

/// From the words of the command line to an exit code.
enum CommandLineProgram {
    static func run(_ words: () throws -> [String]) -> Int32 {
        let output = Output()
        do {
            switch try Parser(StarlingProgram.table).parse(words()) {
            case .help(let path):
                output.text(Help(StarlingProgram.table, columns: min(output.columns, 100)).text(path))
            case .version:
                output.text("starling \(StarlingVersion.current)\n")
            case .run(let invocation):
                let session = Session(invocation, output)
                try StarlingProgram.run(session)
            }
            output.flush()
            return 0
        } catch {
            output.flush()
            return report(error)
        }
    }

    private static func report(_ error: any Error) -> Int32 {
        switch error {
        case let error as UsageError:
            let command = (["starling"] + error.path).joined(separator: " ")
            Output.complain("\(command): \(error.message)\nTry: \(command) --help")
            return 2
        case let error as ClientError:
            Output.complain("starling: \(error)")
            return error.exitCode
        case let error as RPCError:
            Output.complain("starling: this answer of the daemon makes no sense here: \(error.message)")
            return 1
        default:
            Output.complain("starling: \(error)")
            return 1
        }
    }
}
