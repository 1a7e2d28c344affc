import Testing

@testable import Discovery

struct TXTRecordTests {
    @Test func entriesBecomeLengthPrefixedStrings() throws {
        let bytes = try TXTRecord.encode([("v", [0x31]), ("s", []), ("h", [0x00, 0x3d])])
        let expected: [UInt8] = [3, 0x76, 0x3d, 0x31, 2, 0x73, 0x3d, 4, 0x68, 0x3d, 0x00, 0x3d]
        #expect(bytes == expected)
        let values = TXTRecord.decode(bytes)
        #expect(values == ["v": [0x31], "s": [], "h": [0x00, 0x3d]])
    }

    @Test func ownRecordsStayUnder200Bytes() throws {
        #expect(try TXTRecord.encode([("k", [UInt8](repeating: 1, count: 196))]).count == 199)
        #expect(throws: DiscoveryError(.txtTooLong)) {
            try TXTRecord.encode([("k", [UInt8](repeating: 1, count: 197))])
        }
        #expect(throws: DiscoveryError(.txtTooLong)) {
            try TXTRecord.encode((0..<20).map { ("key\($0)", [UInt8](repeating: 1, count: 8)) })
        }
    }

    @Test(arguments: ["", "a=b", "é", "a\u{1b}", "a\n"]) func keysArePrintableASCIIWithoutEqualsSign(key: String) {
        #expect(throws: DiscoveryError(.invalidTXTKey)) {
            try TXTRecord.encode([(key, [])])
        }
    }

    @Test func theFirstOfEqualKeysCountsAndCaseDoesNot() {
        let values = TXTRecord.decode(Array("\u{3}A=1\u{3}a=2\u{4}flag\u{0}\u{2}=x".utf8))
        #expect(values == ["a": [0x31], "flag": []])
    }

    @Test func recordsThatAreCutOffOrTooLongAreRefused() {
        #expect(TXTRecord.decode([5, 0x61, 0x3d]) == nil)
        #expect(TXTRecord.decode([UInt8](repeating: 0, count: 400)) == [:])
        #expect(TXTRecord.decode([UInt8](repeating: 0, count: 401)) == nil)
        #expect(TXTRecord.decode([]) == [:])
    }

    @Test func anyBytesCanBeDecoded() {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        for round in 0..<5_000 {
            let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                // Small numbers are likelier to be lengths that fit.
                UInt8.random(in: Bool.random(using: &random) ? 0...6 : 0...255, using: &random)
            }
            let values = TXTRecord.decode(bytes) ?? [:]
            let size = values.reduce(0) { $0 + $1.key.utf8.count + $1.value.count }
            #expect(size <= bytes.count, "seed \(seed), round \(round)")
        }
    }

    @Test func configurationsAreChecked() throws {
        #expect(throws: DiscoveryError(.invalidPort)) {
            try DiscoveryConfiguration(instanceName: "a", port: 0, txt: [])
        }
        for name in ["", String(repeating: "a", count: 64), "a\0b"] {
            #expect(throws: DiscoveryError(.invalidInstanceName)) {
                try DiscoveryConfiguration(instanceName: name, port: 1, txt: [])
            }
        }
        for type in ["starling", "_starling._udp", "_a\0._tcp"] {
            #expect(throws: DiscoveryError(.invalidServiceType)) {
                try DiscoveryConfiguration(serviceType: type, instanceName: "a", port: 1, txt: [])
            }
        }
        _ = try DiscoveryConfiguration(instanceName: String(repeating: "a", count: 63), port: 1, txt: [])
    }
}

/// SplitMix64, so that a failure can be repeated.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var word = state
        word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
        return word ^ (word >> 31)
    }
}
