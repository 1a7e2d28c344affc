import Glibc
import Seal
import Store
import Tree

/// Commits messages to a database for as long as it lives and writes each one's key to standard output once the store
/// has returned: what a test kills at random moments.
///
/// Arguments: the database, and the number of this run, which keeps the keys of runs apart. With a third, `overwrite`,
/// two authors overwrite each other's number instead, and each number is written once the store has returned. With
/// `sweep` what waits is swept, and after each slice the number of entries is written.
@main
enum StoreWriter {
    static func main() throws {
        guard CommandLine.arguments.count >= 3, let run = UInt64(CommandLine.arguments[2]) else { exit(2) }
        let store = try DatabaseStore(path: CommandLine.arguments[1])
        if CommandLine.arguments.last == "overwrite" { try overwrite(store) }
        if CommandLine.arguments.last == "sweep" { try sweep(store) }
        let key = SigningKey(seed: Bytes32(repeating: 1))
        let workspace = Bytes32.zero
        var clock = HLC(ms: 1_000_000 * (run + 1))
        while true {
            // Sometimes a burst in one bundle, as an `update` makes it.
            let count = clock.counter % 8 == 7 ? 3 : 1
            var entries: [Entry] = []
            for _ in 0..<count {
                clock = clock.next
                let id = AutoID(hlc: clock, author: key.publicKey)
                let path = try Path(parsing: "channels/general/messages/\(id.text)")
                entries.append(try Entry(path: path, hlc: clock, author: key.publicKey, value: .string("text")))
            }
            let bundle = Bundle(signing: entries, by: key, workspace: workspace)
            _ = try store.commit([bundle], heldAfter: HLC(ms: HLC.msMax))
            say(entries)
        }
    }

    /// Goes on from the number that stands there.
    private static func overwrite(_ store: DatabaseStore) throws {
        let keys = [SigningKey(seed: Bytes32(repeating: 1)), SigningKey(seed: Bytes32(repeating: 2))]
        let path = try Path(parsing: "app/number")
        var number = try store.entry(at: PathKey(path))?.value.integer ?? 0
        while true {
            number += 1
            let key = keys[Int(number % 2)]
            let entry = try Entry(
                path: path, hlc: HLC(ms: UInt64(number)), author: key.publicKey, value: .integer(number))
            _ = try store.commit([Bundle(signing: [entry], by: key, workspace: .zero)], heldAfter: HLC(ms: HLC.msMax))
            say("\(number)\n")
        }
    }

    /// In small slices, so that there are many.
    private static func sweep(_ store: DatabaseStore) throws {
        while true {
            _ = try store.sweep(limit: 50)
            say("\(try store.entryCount)\n")
        }
    }

    private static func say(_ entries: [Entry]) {
        say(entries.map { ($0.path.last?.text ?? "") + "\n" }.joined())
    }

    /// One write(2) of whole lines, so that nothing stays in a buffer when the process is killed.
    private static func say(_ text: String) {
        var line = Array(text.utf8)
        _ = unsafe write(STDOUT_FILENO, &line, line.count)
    }
}
