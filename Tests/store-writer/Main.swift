import Glibc
import Seal
import Store
import Tree

/// Commits messages to a database for as long as it lives and writes each one's key to standard output once the store
/// has returned: what a test kills at random moments.
///
/// Arguments: the database, and the number of this run, which keeps the keys of runs apart.
@main
enum StoreWriter {
    static func main() throws {
        guard CommandLine.arguments.count == 3, let run = UInt64(CommandLine.arguments[2]) else { exit(2) }
        let store = try DatabaseStore(path: CommandLine.arguments[1])
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

    /// One write(2) of whole lines, so that nothing stays in a buffer when the process is killed.
    private static func say(_ entries: [Entry]) {
        var line = Array(entries.map { ($0.path.last?.text ?? "") + "\n" }.joined().utf8)
        _ = unsafe write(STDOUT_FILENO, &line, line.count)
    }
}
