import Foundation
import Testing

@Suite struct HouseRulesTests {
    private let repository = Repository.shared

    @Test func repositoryIsFound() {
        #expect(repository.topEntries.contains("Package.swift"))
        #expect(repository.swift.contains { $0.path == "Tests/HouseRulesTests/HouseRulesTests.swift" })
        #expect(repository.swift.count > 20)
    }

    @Test(arguments: Rule.all) func rule(_ rule: Rule) {
        let found = repository.files.flatMap { rule.violations($0) }
        #expect(found.isEmpty, "\(found.joined(separator: "\n"))")
    }

    @Test func importsPointUpwards() throws {
        let manifest = try manifest()
        let found = repository.swift.flatMap { Layers.violations($0, manifest) }
        #expect(found.isEmpty, "\(found.joined(separator: "\n"))")
    }

    @Test func manifestKeepsTheOrder() throws {
        let manifest = try manifest()
        let ofTests = manifest.folders.filter { $0.key.hasPrefix("Tests/") }.values
        let shipped = manifest.order.filter { !$0.hasSuffix("Tests") && !ofTests.contains($0) }
        #expect(shipped == Layers.order)
        for (target, dependencies) in manifest.dependencies {
            guard let here = Layers.order.firstIndex(of: target) else { continue }
            for name in dependencies {
                let there = try #require(Layers.order.firstIndex(of: name), "\(target) depends on \(name)")
                #expect(there < here, "\(target) depends on \(name), which stands below it")
            }
        }
    }

    @Test func everyFolderIsATarget() throws {
        let manifest = try manifest()
        let targets = Set(repository.swift.compactMap { manifest.target(of: $0.path) })
        #expect(targets.subtracting(manifest.order) == [])
    }

    @Test(arguments: Layers.systemLibraries) func systemLibraryHasOneImporter(_ library: String) throws {
        let manifest = try manifest()
        let importers = manifest.dependencies.filter { $0.value.contains(library) }.keys.sorted()
        #expect(importers.count == 1, "\(library) is imported by \(importers)")
    }

    @Test func commandLineReachesTheNodeOnlyThroughItsSocket() throws {
        let reach = Layers.reach(of: "starling", try manifest().dependencies)
        #expect(reach.contains("ControlClient"))
        #expect(reach.isDisjoint(with: Layers.behindSocket))
    }

    @Test func filesAndFunctionsAreShort() {
        let found = repository.swift.flatMap { Lengths.violations($0) }
        #expect(found.isEmpty, "\(found.joined(separator: "\n"))")
    }

    @Test func topLevelHoldsTheAgreedSet() {
        #expect(Self.strangers(in: repository.topEntries).isEmpty)
    }

    static func strangers(in entries: [String]) -> [String] {
        let agreed: Set = ["Package.swift", "Package.resolved", "Sources", "Tests", "README.md", "Makefile", "LICENSE"]
        return entries.filter { !agreed.contains($0) && !$0.hasPrefix(".") }
    }

    private func manifest() throws -> Manifest {
        Manifest(try #require(repository.files.first { $0.path == "Package.swift" }).text)
    }
}
