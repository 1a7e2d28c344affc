internal import Chat
internal import Glibc
internal import Seal
internal import Simulation
internal import Store
internal import Tree

/// The databases of two nodes of which one lacks some of the other's messages.
struct CatchUpData {
    /// How the messages lie in time, and which of them one node lacks.
    enum Spread: String, CaseIterable {
        /// Those of a year, and the last ones are missing.
        case newest
        /// Here and there in a year, an hour, a minute.
        case year, hour, minute

        var spanMs: UInt64 {
            switch self {
            case .newest, .year: 365 * 24 * 3600 * 1000
            case .hour: 3600 * 1000
            case .minute: 60 * 1000
            }
        }

        var name: String {
            switch self {
            case .newest: "the newest of a year"
            case .year: "scattered over a year"
            case .hour: "scattered within an hour"
            case .minute: "imported within a minute"
            }
        }
    }

    static let authors = 50
    private static let textBytes = 100
    /// Entries of one transaction.
    private static let batch = 1000

    static let workspace = BLAKE2b.hash(Array("starling/workspace/open".utf8))

    static func generalMessages() throws -> Path {
        guard let general = try ChannelName(ChannelName.general).key(workspace: workspace),
            let path = ChatPath.messages(general)
        else { throw BenchError.unexpected("#general has no key") }
        return path
    }

    let spread: Spread
    let messages: Int
    let missing: Int
    let endMs: UInt64
    private let keys: [SigningKey]
    private let place: Path

    init(_ spread: Spread, messages: Int, missing: Int) throws {
        self.spread = spread
        self.messages = messages
        self.missing = min(missing, messages)
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        endMs = UInt64(clamping: now.tv_sec) * 1000 - 2000
        keys = (0..<Self.authors).map { SigningKey(seed: Bytes32(repeating: UInt8(truncatingIfNeeded: $0 + 1))) }
        place = try Self.generalMessages()
    }

    /// Makes three databases: `a` and `spare` lack the missing messages, `b` has all.
    func make(in folder: String) throws {
        for name in ["a", "b", "spare"] { unsafe mkdir("\(folder)/\(name)", 0o700) }
        let lacks = missingNumbers()
        let path = Self.database(folder, "b")
        let store = try DatabaseStore(path: path)
        try fill(store, (0..<messages).filter { !lacks.contains($0) }, isSigned: false)
        store.close()
        for name in ["a", "spare"] { try Self.copy(path, Self.database(folder, name)) }
        let whole = try DatabaseStore(path: path)
        try fill(whole, lacks.sorted(), isSigned: true)
        whole.close()
    }

    static func database(_ folder: String, _ name: String) -> String { "\(folder)/\(name)/workspace.db" }

    private func missingNumbers() -> Set<Int> {
        guard spread != .newest else { return Set((messages - missing)..<messages) }
        var random = SplitMix64(seed: 1)
        var numbers: Set<Int> = []
        while numbers.count < missing { numbers.insert(Int.random(in: 0..<messages, using: &random)) }
        return numbers
    }

    /// What both sides have is never sent, so it needs no signature that anybody could check.
    private func fill(_ store: DatabaseStore, _ numbers: [Int], isSigned: Bool) throws {
        guard let anySignature = Signature([UInt8](repeating: 7, count: 64)) else { return }
        for first in stride(from: 0, to: numbers.count, by: Self.batch) {
            try Interruption.check()
            var bundles: [Bundle] = []
            for number in numbers[first..<min(first + Self.batch, numbers.count)] {
                let entry = try entry(number)
                let key = keys[number % keys.count]
                bundles.append(
                    isSigned
                        ? Bundle(signing: [entry], by: key, workspace: Self.workspace)
                        : Bundle(
                            author: key.publicKey, count: 1, signature: anySignature,
                            leaves: [Bundle.Leaf(index: 0, entry: entry)], omitted: []))
            }
            _ = try store.commit(bundles, heldAfter: HLC(ms: HLC.msMax))
        }
        while try store.indexMessages(limit: 10_000) { try Interruption.check() }
    }

    private func entry(_ number: Int) throws -> Entry {
        // Within a minute several messages share a millisecond.
        let step = UInt64(number) * spread.spanMs
        let ms = endMs - spread.spanMs + step / UInt64(messages)
        let perMs = UInt64(messages) / spread.spanMs
        let counter = perMs == 0 ? 0 : UInt64(number) % min(perMs + 1, HLC.counterMax)
        let hlc = HLC(ms: ms, counter: counter)
        let author = keys[number % keys.count].publicKey
        guard let key = Key(AutoID(hlc: hlc, author: author).text), let path = place.appending(key) else {
            throw BenchError.unexpected("a message without a place")
        }
        let text = "\(number) " + String(repeating: "x", count: max(0, Self.textBytes - "\(number) ".utf8.count))
        let value = Message.value(
            sender: author, senderName: "author \(number % keys.count)", text: text, createdAtMs: ms, replyTo: nil)
        return try Entry(path: path, hlc: hlc, author: author, value: value)
    }

    /// The text of the last message.
    func isLast(_ text: String) -> Bool { text.hasPrefix("\(messages - 1) ") }

    static func copy(_ from: String, _ to: String) throws(BenchError) {
        let source = unsafe open(from, O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { throw .current("opening \(from)") }
        defer { close(source) }
        let target = unsafe open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard target >= 0 else { throw .current("making \(to)") }
        defer { close(target) }
        var chunk = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe read(source, $0.baseAddress, $0.count) }
            guard count > 0 else {
                if count < 0 { throw .current("reading \(from)") }
                return
            }
            let written = unsafe chunk.withUnsafeBytes { unsafe Glibc.write(target, $0.baseAddress, count) }
            guard written == count else { throw .current("writing \(to)") }
        }
    }
}
