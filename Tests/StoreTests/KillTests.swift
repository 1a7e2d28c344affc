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

    /// Lets the writer say some keys, kills it at once, and returns all the whole lines it has said.
    private static func writeAndKill(_ path: String, round: Int, afterKeys count: Int) throws -> [String] {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = writer
        process.arguments = [path, "\(round)"]
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
