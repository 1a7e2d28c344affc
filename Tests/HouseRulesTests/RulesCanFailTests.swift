import Testing

/// Each rule against something that breaks it: a rule that cannot fail is none.
@Suite struct RulesCanFailTests {
    @Test(arguments: Rule.all) func ruleFindsItsOffenceAndNothingElse(_ rule: Rule) {
        let paths = ["Sources/Tree/A.swift", "Tests/TreeTests/A.swift", "Sources/CPosix/include/A.h"]
        #expect(paths.contains(where: rule.applies))
        for path in paths where rule.applies(path) && (rule.place == .everything || path.hasSuffix(".swift")) {
            let offences = rule.violations(file(path, "let before = 1\n" + rule.offence))
            #expect(offences == ["\(path):2: \(rule.name)"])
            #expect(rule.violations(file(path, rule.innocent)) == [])
        }
    }

    @Test func programsMayPrint() throws {
        let rule = try #require(Rule.all.first { $0.name.hasPrefix("print") })
        #expect(rule.violations(file("Sources/starling/A.swift", rule.offence)) == [])
    }

    static let sources: [(source: String, code: String)] = [
        ("a // b\nc", "a     \nc"),
        ("a /* b /* c */ d */ e", "a                   e"),
        (#"f("a! \(g("b!") + c) d")"#, ##"f("     g("  ") + c   ")"##),
        ("#\"a\"b\\(c!)\"#!", "#\"        \"#!"),
        ("\"\"\"\na\"!\n\"\"\"!", "\"\"\"\n   \n\"\"\"!"),
        ("\"open!\nlet a = b!", "\"     \nlet a = b!"),
    ]

    @Test(arguments: sources) func commentsAndStringsAreBlanked(_ pair: (source: String, code: String)) {
        #expect(SwiftCode(pair.source).text == pair.code)
    }

    private static let manifest = Manifest(
        """
        .target(name: "CBOR", dependencies: ["Tree"]), .target(name: "Seal", dependencies: ["CSodium"]),
        .target(name: "Tree", dependencies: ["CBOR", "Seal"]), .target(name: "Store", dependencies: ["Simulation"]),
        .testTarget(name: "TreeTests", dependencies: ["Tree"]),
        .executableTarget(name: "tree-writer", dependencies: ["Tree"], path: "Tests/TreeWriter"),
        """)

    private func file(_ path: String, _ text: String) -> Repository.File { Repository.File(path: path, text: text) }

    static let offences: [(path: String, text: String, says: String)] = [
        ("Sources/CBOR/A.swift", "internal import Tree", "CBOR stands below Tree"),
        ("Sources/Tree/A.swift", "public import struct Wire.Message", "does not declare that Tree depends on Wire"),
        ("Sources/Seal/A.swift", "public import CSodium", "public import of CSodium"),
        ("Sources/Tree/A.swift", "import Foundation", "Foundation is no module"),
        ("Sources/Store/A.swift", "import Simulation", "Simulation is not shipped"),
        ("Tests/TreeTests/A.swift", "@testable import Seal", "does not declare that TreeTests depends on Seal"),
        ("Tests/TreeTests/A.swift", "import XCTest", "XCTest is no module"),
        ("Tests/TreeWriter/A.swift", "import CBOR", "does not declare that tree-writer depends on CBOR"),
    ]

    @Test(arguments: offences) func wrongImportIsFound(_ offence: (path: String, text: String, says: String)) throws {
        let found = Layers.violations(file(offence.path, offence.text), Self.manifest)
        #expect(found.contains { $0.contains(offence.says) }, "\(found)")
    }

    @Test func rightImportsPass() {
        let text = "public import CBOR\ninternal import Seal\nimport Glibc // import Foundation\nlet a = \"import b\""
        #expect(Layers.violations(file("Sources/Tree/A.swift", text), Self.manifest) == [])
        #expect(Layers.violations(file("Tests/TreeWriter/A.swift", "import Tree"), Self.manifest) == [])
    }

    @Test func manifestIsRead() {
        let manifest = Manifest(
            """
            targets: [
                .systemLibrary(name: "A", path: "Sources/A"),
                .target(
                    name: "B",
                    dependencies: [
                        "A", "C",
                    ]),
                .testTarget(name: "D", dependencies: ["B"], resources: [.copy("Vectors")]),
                .testTarget(name: "E"),
            ]
            )
            """)
        #expect(manifest.order == ["A", "B", "D", "E"])
        #expect(manifest.dependencies == ["A": [], "B": ["A", "C"], "D": ["B"], "E": []])
        #expect(Layers.reach(of: "D", manifest.dependencies) == ["A", "B", "C"])
    }

    @Test func longFilesAndFunctionsAreFound() {
        let long = String(repeating: "\n", count: Lengths.fileLinesMax + 1)
        #expect(Lengths.violations(file("a.swift", long)).count == 1)
        let body = String(repeating: "if a { b() }\n", count: Lengths.functionLinesMax)
        let function = "struct A {\ninit(\na: Int\n) {\n\(body)}\nfunc c() {}\n}\n"
        #expect(Lengths.violations(file("a.swift", function)) == ["a.swift:2: a function of 72 lines"])
        #expect(Lengths.violations(file("a.swift", "func d() {\n}\n")) == [])
    }

    @Test func strangersAtTheTopAreFound() {
        #expect(HouseRulesTests.strangers(in: ["Sources", ".ci", "Makefile", "notes.txt"]) == ["notes.txt"])
    }
}
