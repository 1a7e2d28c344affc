import Foundation
import Seal
import Store
import Testing
import Tree

/// What was said to be done survives kill -9 at any instant.
@Suite struct KillTests {
    /// The helper stands beside the test runner.
    private static var writer: URL {
        URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent("store-writer")
    }

    @Test func nothingAcknowledgedIsLost() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("workspace.db")
        var random = SystemRandomNumberGenerator()
        var acknowledged: Set<String> = []
        for round in 0..<10 {
            let count = Int.random(in: 1...150, using: &random)
            let keys = try KillTests.writeAndKill(path, round: round, afterKeys: count)
            try #require(keys.count >= count)
            acknowledged.formUnion(keys)

            let store = try DatabaseStore(path: path)
            var stored: [String] = []
            var digest = BucketDigest.empty
            try store.scan(from: everyPath.lower, to: everyPath.upper, descending: false) { entry in
                stored.append(entry.path.last?.text ?? "")
                digest.add(entry.id)
                return true
            }
            #expect(acknowledged.isSubset(of: stored), "round \(round), killed after \(count) keys")
            #expect(Set(stored).count == stored.count)
            #expect(try store.digest(of: .root) == digest)
            let (bundles, gone) = try store.bundles(for: store.allReferences())
            #expect(gone.isEmpty && bundles.allSatisfy { $0.verifies(workspace: .zero) })
            store.close()
        }
    }

    /// A death and its grave are one: whatever was overwritten lies in the graveyard, and nothing else does.
    @Test func whatWasOverwrittenIsKept() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("workspace.db")
        var random = SystemRandomNumberGenerator()
        for round in 0..<6 {
            let count = Int.random(in: 1...60, using: &random)
            let numbers = try KillTests.writeAndKill(path, round: round, afterKeys: count, "overwrite")
            let store = try DatabaseStore(path: path)
            let live = try #require(try store.value("app/number").integer)
            #expect(try live >= #require(numbers.last.flatMap { Int64($0) }), "round \(round)")
            let kept = try store.graves().reversed().map { $0.value.integer ?? 0 }
            #expect(kept == Array(1..<live), "round \(round)")
            store.close()
        }
    }

    /// A sweep that is killed at any instant goes on where it was, and nobody sees what it has not come to.
    @Test func aSweepSurvivesItsDeath() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("workspace.db")
        var store = try DatabaseStore(path: path)
        let author = Bytes32(repeating: 1)
        let owned = try testPath("channels/\(AutoID(hlc: HLC(ms: 1), author: author).text)")
        for base in [0, 2000] {
            let entries = try (base..<(base + 2000)).map { number in
                let mid = AutoID(hlc: HLC(ms: UInt64(10 + number)), author: author).text
                let path = number % 2 == 0 ? "apps/\(number)" : "\(owned)/messages/\(mid)"
                return try testEntry(path, .integer(1), ms: UInt64(10 + number), author: author)
            }
            _ = try store.commit([testBundle(entries)], heldAfter: farFuture)
        }
        let before = AutoID(hlc: HLC(ms: 4000), author: author).text
        try store.commit(testEntry("retention/\(owned.keys[1])/\(before)", .bool(true), ms: 9000, author: author))
        try store.commit(testEntry("apps", .null, ms: 9001, author: author))
        store.close()
        var random = SystemRandomNumberGenerator()
        var left: [Int] = []
        for round in 0..<8 {
            let slices = Int.random(in: 1...6, using: &random)
            left += try KillTests.writeAndKill(path, round: round, afterKeys: slices, "sweep").compactMap { Int($0) }
            store = try DatabaseStore(path: path)
            #expect(try store.entryCount <= left.last ?? .max, "round \(round)")
            #expect(try store.value("apps").isNull && store.value("\(owned)/messages").object?.count == 5)
            var digest = BucketDigest.empty
            for leaf in try store.bundles(for: store.allReferences()).bundles.flatMap(\.leaves) {
                digest.add(leaf.entry.id)
            }
            #expect(try store.digest(of: .root) == digest && digest.count == store.tally.entries)
            store.close()
            if left.last == 7 { break }
        }
        #expect(zip(left, left.dropFirst()).allSatisfy { $0 >= $1 })
        store = try DatabaseStore(path: path)
        while try store.sweep(limit: 1000) {}
        #expect(try store.entryCount == 7)
        store.close()
    }

    /// Lets the writer say some keys, kills it at once, and returns all the whole lines it has said.
    private static func writeAndKill(
        _ path: String, round: Int, afterKeys count: Int, _ more: String...
    ) throws -> [String] {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = writer
        process.arguments = [path, "\(round)"] + more
        process.standardOutput = pipe
        try process.run()
        var output = Data()
        while output.count(where: { $0 == UInt8(ascii: "\n") }) < count {
            let part = pipe.fileHandleForReading.availableData
            if part.isEmpty { break }
            output.append(part)
        }
        kill(process.processIdentifier, SIGKILL)
        output.append(pipe.fileHandleForReading.readDataToEndOfFile())
        process.waitUntilExit()
        let whole = output.prefix(through: output.lastIndex(of: UInt8(ascii: "\n")) ?? output.startIndex)
        return String(decoding: whole, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
