// swift-tools-version: 6.2
import PackageDescription

// A target imports only what stands above it in this list; the C libraries are each imported by exactly one target.
let package = Package(
    name: "starling",
    products: [
        .executable(name: "starlingd", targets: ["starlingd"]),
        .executable(name: "starling", targets: ["starling"]),
        .executable(name: "starling-bench", targets: ["starling-bench"]),
        .library(name: "Node", targets: ["Node"]),
    ],
    targets: [
        .systemLibrary(name: "CSodium", path: "Sources/CSodium"),
        .systemLibrary(name: "CSQLite", path: "Sources/CSQLite"),
        .systemLibrary(name: "CDNSSD", path: "Sources/CDNSSD"),
        .systemLibrary(name: "CUTF8Proc", path: "Sources/CUTF8Proc"),
        .systemLibrary(name: "CQREncode", path: "Sources/CQREncode"),
        .target(name: "CPosix"),
        .target(name: "CLimit", linkerSettings: [.linkedLibrary("sodium"), .linkedLibrary("sqlite3")]),

        .target(name: "CBOR"),
        .target(name: "Seal", dependencies: ["CSodium"]),
        .target(name: "Tree", dependencies: ["CBOR", "Seal"]),
        .target(name: "Wire", dependencies: ["CBOR", "Seal", "Tree"]),
        .target(name: "Replication", dependencies: ["Seal", "Tree", "Wire"]),
        .target(name: "Chat", dependencies: ["CUTF8Proc", "Seal", "Tree"]),
        .target(name: "Store", dependencies: ["CBOR", "CSQLite", "Chat", "Seal", "Tree"]),
        .target(name: "Discovery", dependencies: ["CDNSSD"]),
        .target(name: "Net", dependencies: ["CPosix"]),
        .target(name: "ControlAPI", dependencies: ["Tree"]),
        .target(name: "ControlClient", dependencies: ["ControlAPI", "CPosix"]),
        .target(
            name: "Node",
            dependencies: [
                "CBOR", "CPosix", "Chat", "ControlAPI", "Discovery", "Net", "Replication", "Seal", "Store", "Tree",
                "Wire",
            ]),
        .target(name: "CommandLineKit"),
        .executableTarget(name: "starlingd", dependencies: ["CommandLineKit", "Net", "Node"]),
        .executableTarget(
            name: "starling", dependencies: ["CPosix", "CQREncode", "CommandLineKit", "ControlAPI", "ControlClient"]),
        .target(name: "Simulation", dependencies: ["Replication", "Seal", "Store", "Tree", "Wire"]),
        .executableTarget(
            name: "starling-bench",
            dependencies: [
                "CLimit", "CPosix", "Chat", "CommandLineKit", "ControlAPI", "ControlClient", "Replication", "Seal",
                "Simulation", "Store", "Tree", "Wire",
            ],
            resources: [.embedInCode("Benchmarks")]),

        .testTarget(name: "CBORTests", dependencies: ["CBOR"]),
        .testTarget(name: "SealTests", dependencies: ["Seal"], resources: [.copy("Vectors")]),
        .testTarget(name: "TreeTests", dependencies: ["CBOR", "Seal", "Tree"], resources: [.copy("Vectors")]),
        .testTarget(name: "WireTests", dependencies: ["CBOR", "Seal", "Tree", "Wire"]),
        .testTarget(
            name: "ReplicationTests",
            dependencies: ["Replication", "Scenarios", "Seal", "Simulation", "Store", "Tree", "Wire"]),
        .testTarget(name: "ChatTests", dependencies: ["Chat", "Seal", "Tree"]),
        .executableTarget(name: "store-writer", dependencies: ["Seal", "Store", "Tree"], path: "Tests/store-writer"),
        .testTarget(name: "StoreTests", dependencies: ["Chat", "Seal", "Store", "Tree", "store-writer"]),
        .target(name: "TreeModel", dependencies: ["Seal", "Store", "Tree"], path: "Tests/TreeModel"),
        .executableTarget(name: "tree-model", dependencies: ["Store", "TreeModel"], path: "Tests/tree-model"),
        .testTarget(
            name: "OracleTests", dependencies: ["Seal", "Store", "Tree", "TreeModel"], resources: [.copy("Cases")]),
        .target(
            name: "Scenarios",
            dependencies: ["Chat", "Replication", "Seal", "Simulation", "Store", "Tree", "TreeModel", "Wire"],
            path: "Tests/Scenarios"),
        .executableTarget(name: "soak", dependencies: ["Scenarios"], path: "Tests/soak"),
        .target(
            name: "Fuzzing",
            dependencies: [
                "CBOR", "ControlAPI", "Discovery", "Replication", "Seal", "Simulation", "Store", "Tree", "Wire",
            ],
            path: "Tests/Fuzzing"),
        .testTarget(name: "FuzzingTests", dependencies: ["Fuzzing"]),
        .executableTarget(name: "discovery-probe", dependencies: ["Discovery"], path: "Tests/DiscoveryProbe"),
        .testTarget(name: "DiscoveryTests", dependencies: ["Discovery", "Lab", "discovery-probe"]),
        .testTarget(name: "NetTests", dependencies: ["CPosix", "Net"]),
        .testTarget(name: "ControlAPITests", dependencies: ["ControlAPI", "Tree"]),
        .testTarget(name: "ControlClientTests", dependencies: ["ControlAPI", "ControlClient"]),
        .testTarget(name: "CommandLineKitTests", dependencies: ["CommandLineKit"]),
        .testTarget(
            name: "NodeTests",
            dependencies: [
                "Chat", "ControlAPI", "Discovery", "Lab", "Net", "Node", "Replication", "Seal", "Store", "Tree",
                "TreeModel", "Wire", "starlingd",
            ]),
        .target(name: "Lab", path: "Tests/Lab", resources: [.copy("Scripts")]),
        .executableTarget(name: "lab-soak", dependencies: ["ControlAPI", "Lab"], path: "Tests/lab-soak"),
        .testTarget(
            name: "CommandLineTests",
            dependencies: [
                "CommandLineKit", "ControlAPI", "ControlClient", "Lab", "Seal", "Tree", "Wire", "starling", "starlingd",
            ]),
        .testTarget(
            name: "BenchTests", dependencies: ["ControlAPI", "Lab", "starling-bench", "starlingd"]),
        .testTarget(name: "HouseRulesTests"),
    ]
)

// The fuzzer links against libFuzzer's main, so it exists only for `make fuzz`, which builds it on its own.
if Context.environment["STARLING_FUZZ"] != nil {
    package.targets.append(.executableTarget(name: "fuzz", dependencies: ["Fuzzing"], path: "Tests/fuzz"))
}

// One set of settings for every Swift target, so that none can fall behind.
for target in package.targets where target.type != .system && !["CPosix", "CLimit"].contains(target.name) {
    target.swiftSettings = [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .strictMemorySafety(),
        .treatAllWarnings(as: .error),
    ]
}
