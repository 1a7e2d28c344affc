internal import ControlAPI
internal import Glibc
internal import Seal
internal import Store
internal import Tree
internal import Wire

/// What storing, reading and carrying many entries costs, within one process and on one core.
struct StoreBench {
    private static let messages = 100_000
    /// Entries of one transaction: about what a message of the peer protocol brings.
    private static let part = 512
    /// Entries that a peer asks for at once.
    private static let asked = 4096

    private let scratch: ScratchFolder

    init(_ scratch: ScratchFolder) { self.scratch = scratch }

    func measure(messages: Int?, _ report: Report) throws {
        report.heading("bulk, in processor time of one core")
        let count = messages ?? Self.messages
        var archive = try MessageArchive(count, workspace: .zero)
        let entries = try archive.entries(count)
        let singles = archive.signedSingly(entries)
        let bundles = archive.signedTogether(entries)
        try store(singles, "singles", "entries stored, singly signed", count, report)
        let whole = bundles.flatMap { $0.parts(Self.part) }
        let path = try store(whole, "bundles", "entries stored, bundle by bundle", count, report)
        try serve(path, entries.map(\.entry.reference), report)
    }

    @discardableResult
    private func store(
        _ bundles: [Bundle], _ key: String, _ name: String, _ count: Int, _ report: Report
    ) throws -> String {
        let path = scratch.path + "/\(key).db"
        let store = try DatabaseStore(path: path)
        defer { store.close() }
        try store.expectMuch(true)
        let start = threadNs()
        var group: [Bundle] = []
        var size = 0
        for bundle in bundles {
            group.append(bundle)
            size += bundle.leaves.count
            guard size >= Self.part else { continue }
            try Interruption.check()
            _ = try store.commit(group, heldAfter: HLC(ms: HLC.msMax))
            (group, size) = ([], 0)
        }
        _ = try store.commit(group, heldAfter: HLC(ms: HLC.msMax))
        add("store.\(key)", name, count, start, report)
        return path
    }

    private func add(_ key: String, _ name: String, _ count: Int, _ start: Int64, _ report: Report) {
        let seconds = Double(threadNs() - start) / 1e9
        report.add(Figure(key: key, name: name, value: Double(count) / seconds, unit: .perSecond))
    }

    /// The way of entries from one store to another, step by step, newest first.
    private func serve(_ path: String, _ references: [EntryReference], _ report: Report) throws {
        let store = try DatabaseStore(path: path)
        let copy = try DatabaseStore(path: scratch.path + "/copy.db")
        defer {
            store.close()
            copy.close()
        }
        try copy.expectMuch(true)
        var times = (read: Int64(0), encode: Int64(0), decode: Int64(0), verify: Int64(0), store: Int64(0))
        var bytes = 0
        for end in stride(from: references.count, to: 0, by: -Self.asked) {
            try Interruption.check()
            var asked = references[max(0, end - Self.asked)..<end]
            while !asked.isEmpty {
                var now = threadNs()
                func lap(_ sum: inout Int64) {
                    let next = threadNs()
                    sum += next - now
                    now = next
                }
                let (bundles, _, taken) = try store.bundles(for: Array(asked), bytesMax: 1 << 20)
                asked = asked.dropFirst(taken)
                lap(&times.read)
                let encoded = PeerMessage.bundles(bundles).encoded
                bytes += encoded.count
                lap(&times.encode)
                guard case .bundles(let decoded)? = try PeerMessage.decode(encoded) else { continue }
                lap(&times.decode)
                let verified = decoded.filter { bundle in
                    bundle.verifies(workspace: .zero)
                        && bundle.leaves.allSatisfy { Ownership.denial(of: $0.entry) == nil }
                }
                lap(&times.verify)
                _ = try copy.commit(verified, heldAfter: HLC(ms: HLC.msMax))
                lap(&times.store)
            }
        }
        let isWhole = try copy.digest(of: .root) == store.digest(of: .root)
        guard isWhole else { throw BenchError.unexpected("the copy is not what it was made of") }
        let steps = [
            ("read", "read with proofs", times.read), ("encode", "encoded", times.encode),
            ("decode", "decoded", times.decode), ("verify", "verified and judged", times.verify),
            ("store", "stored, newest first", times.store),
        ]
        for (key, name, ns) in steps {
            report.add(
                Figure(
                    key: "store.copy.\(key)", name: "an entry of a bundle, \(name)",
                    value: Double(ns) / 1000 / Double(references.count), unit: .microseconds))
        }
        report.add(
            Figure(
                key: "store.copy.bytes", name: "an entry of a bundle, as a part of messages",
                value: Double(bytes) / Double(references.count), unit: .bytes, aim: .atMost(220)))
    }
}

extension Bundle {
    /// The same bundle in parts of so many leaves.
    fileprivate func parts(_ count: Int) -> [Bundle] {
        stride(from: 0, to: leaves.count, by: count).compactMap { first in
            keeping(leaves[first..<min(first + count, leaves.count)].map(\.index))
        }
    }
}

/// Nanoseconds that this thread has run: what is measured within one thread does not depend on what else runs.
private func threadNs() -> Int64 {
    var now = timespec()
    unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
    return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
}
