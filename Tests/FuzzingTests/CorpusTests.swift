import Foundation
import Fuzzing
import Testing

/// The examples of each fuzz target, among them what has broken it once, are taken as they should be.
@Suite struct CorpusTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Corpus")

    private static func examples(of target: FuzzTarget) throws -> [(name: String, bytes: [UInt8])] {
        let place = folder.appending(path: target.rawValue).path
        return try FileManager.default.contentsOfDirectory(atPath: place).sorted().map { name in
            (name, Array(try #require(FileManager.default.contents(atPath: "\(place)/\(name)"))))
        }
    }

    @Test(arguments: FuzzTarget.allCases) func everyExampleIsTakenAsItShouldBe(target: FuzzTarget) throws {
        let examples = try CorpusTests.examples(of: target)
        #expect(examples.count >= 8, "\(target) has \(examples.count) examples")
        for (name, bytes) in examples {
            do {
                try target.run(bytes)
            } catch {
                Issue.record("\(target.rawValue)/\(name): \(error)")
            }
        }
    }

    /// Every folder of examples belongs to a target.
    @Test func everyFolderHasATarget() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: CorpusTests.folder.path).sorted()
        #expect(names == FuzzTarget.allCases.map(\.rawValue).sorted())
    }

    /// A few random inputs for each, so that a target that finds fault with everything is noticed here.
    @Test(arguments: FuzzTarget.allCases) func randomInputsAreTaken(target: FuzzTarget) throws {
        let seed = UInt64.random(in: 0 ... .max)
        var state = seed
        func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state >> 33
        }
        for _ in 0..<(target == .sequence ? 4 : 40) {
            let input = (0..<Int(next() % 120)).map { _ in UInt8(truncatingIfNeeded: next()) }
            do {
                try target.run(input)
            } catch {
                Issue.record("\(target.rawValue), seed \(seed), input \(input): \(error)")
            }
        }
    }
}
