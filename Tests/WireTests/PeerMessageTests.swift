import CBOR
import Seal
import Testing
import Tree
import Wire

@Suite struct PeerMessageTests {
    static let key = SigningKey(seed: Bytes32(repeating: 1))
    static let workspace = Bytes32(repeating: 9)
    static let vitals = Vitals(
        clockMs: 1_800_000_000_000, isSynchronised: true, highWater: HLC(ms: 1_799_999_999_999, counter: 63),
        root: DigestPrefix(count: 12, sum: .max))

    static func entry(_ path: String, _ ms: UInt64, _ value: Value = .bool(true)) throws -> Entry {
        try Entry(path: try Path(parsing: path), hlc: HLC(ms: ms), author: key.publicKey, value: value)
    }

    static func bundle() throws -> Bundle {
        let paths = ["apps/a/b", "apps/a/c", "apps/z", "notes/x/y/z"]
        let entries = try paths.enumerated().map { try entry($1, UInt64(1000 + $0), .string("text \($0)")) }
        return Bundle(signing: entries, by: key, workspace: workspace)
    }

    static func soft() throws -> SoftRecord {
        SoftRecord(
            signing: try Path(parsing: "presence/\(UID.text(key.publicKey))"), value: .string("here"),
            hlc: HLC(ms: 5000), ttlMs: 30_000, instance: .max, by: key, workspace: workspace)
    }

    /// A record for identities that are made of the letters.
    static func epoch(_ members: [String], number: UInt64 = .max) -> EpochRecord {
        let nodes = members.map { SigningKey(seed: BLAKE2b.hash(Array($0.utf8))).publicKey }
        return EpochRecord(
            workspace: workspace, number: number, networkKey: Bytes32(repeating: 8), nodes: Set(nodes), by: key)
    }

    /// One message of each kind, with the extremes of its fields.
    static func all() throws -> [PeerMessage] {
        let reference = EntryReference(hlc: HLC(ms: HLC.msMax, counter: 63), idPrefix: .max)
        let bucket = try #require(TimeBucket(level: 3, index: 77))
        let range = ReferenceRange(after: ReferenceRange(bucket).after, through: reference)
        let bundle = try bundle()
        let part = try #require(bundle.keeping([1, 3]))
        return [
            .hello(vitals, peers: [key.publicKey, .zero]), .compare(.root, []),
            .compare(bucket, [ChildDigest(index: 77 << 8 | 5, digest: DigestPrefix(count: 1, sum: 0))]),
            .differ(bucket, [BucketSummary(index: 77 << 8, digest: DigestPrefix(count: 99, sum: .max))]),
            .differ(
                .root,
                [
                    BucketSummary(index: 3, digest: DigestPrefix(count: 1, sum: 2)),
                    BucketSummary(
                        index: 5, digest: DigestPrefix(count: 2, sum: 0),
                        children: [BucketSummary(index: 5 << 8 | 7, digest: DigestPrefix(count: 2, sum: 0))]),
                ]),
            .sift(Sift(range: range, salt: .quick(.max), bytesMax: 1 << 20, known: [0, 5, 5, .max])),
            .sift(Sift(range: range, salt: .keyed(Bytes32(repeating: 3)), bytesMax: 0, known: [])),
            .sifted(through: reference, reached: range.after),
            .tail(Tail(path: try Path(parsing: "channels/x/messages"), count: 200, salt: 9, known: [7])),
            .want([reference]), .gone([]), .have([reference, reference]), .bundles([bundle, part]),
            .soft([try soft()]), .peers(connected: [], addresses: [PeerAddress(node: .zero, address: "10.0.0.1:1")]),
            .ping(vitals), .pong(vitals), .verify(nonce: [UInt8](repeating: 1, count: 16)),
            .verified(nonce: [UInt8](repeating: 1, count: 16), answer: [UInt8](repeating: 2, count: 16)),
            .keyed(key: Bytes32(repeating: 7), bucket),
            .keyedSums(
                key: Bytes32(repeating: 7), bucket,
                [BucketSummary(index: 77 << 8 | 255, digest: DigestPrefix(count: 1, sum: 2))]),
            .notice("no"), .goodbye("the end"), .neighbour(.everybody, soft: 0), .neighbour(.join, soft: 1000),
            .disconnect, .forwardJoin(PeerAddress(node: .zero, address: "10.0.0.1:1"), hops: 6),
            .shuffle(origin: key.publicKey, hops: 0, [PeerAddress(node: .zero, address: "[fd00::1]:2")]),
            .graft(soft: []), .graft(soft: [0, .max]), .prune, .haveSoft([1, 2, 3]),
            .epoch(epoch(["a", "b"])), .epoch(epoch([])), .outdated,
        ]
    }

    @Test func everyMessageComesBackAsItWas() throws {
        for message in try PeerMessageTests.all() {
            let decoded = try PeerMessage.decode(message.encoded)
            #expect(decoded == message)
        }
    }

    /// Signatures still verify after the way over the wire: what is left out there is put back exactly.
    @Test func bundlesKeepTheirSignature() throws {
        let bundle = try PeerMessageTests.bundle()
        let part = try #require(bundle.keeping([0, 2]))
        guard case .bundles(let decoded)? = try PeerMessage.decode(PeerMessage.bundles([bundle, part]).encoded) else {
            Issue.record("no bundles")
            return
        }
        #expect(decoded.allSatisfy { $0.verifies(workspace: PeerMessageTests.workspace) })
        #expect(decoded[1].omitted.count == 2)
    }

    @Test func unknownTagsAreIgnored() throws {
        #expect(try PeerMessage.decode([0x82, 0x18, 0xC8, 0x00]) == nil)
        #expect(try PeerMessage.decode([0x81, 0x1B, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]) == nil)
    }

    /// Every message cut short, with a byte too many, or with one byte changed either throws or is another message; it
    /// never traps.
    @Test func damageIsRefusedOrHarmless() throws {
        for message in try PeerMessageTests.all() {
            let bytes = message.encoded
            for count in 0..<bytes.count {
                #expect(throws: WireError.self) { _ = try PeerMessage.decode(Array(bytes.prefix(count))) }
            }
            #expect(throws: WireError.self) { _ = try PeerMessage.decode(bytes + [0]) }
            for index in bytes.indices {
                var damaged = bytes
                damaged[index] ^= 0x41
                if let other = try? PeerMessage.decode(damaged) { #expect(other != message) }
            }
        }
    }

    @Test func listsAreBounded() throws {
        let reference = EntryReference(hlc: .zero, idPrefix: 0)
        let most = [EntryReference](repeating: reference, count: PeerMessage.referencesMax)
        #expect(try PeerMessage.decode(PeerMessage.want(most).encoded) == .want(most))
        #expect(throws: WireError.tooMany) { _ = try PeerMessage.decode(PeerMessage.want(most + [reference]).encoded) }
        let nodes = [Bytes32](repeating: .zero, count: PeerMessage.peersMax + 1)
        #expect(throws: WireError.tooMany) {
            _ = try PeerMessage.decode(PeerMessage.peers(connected: nodes, addresses: []).encoded)
        }
        let long = String(repeating: "x", count: PeerMessage.textMax + 1)
        #expect(throws: WireError.tooMany) { _ = try PeerMessage.decode(PeerMessage.notice(long).encoded) }
    }

    /// What a comparison tells is in order and below the bucket it speaks of, or it is no message.
    @Test func comparisonsAreChecked() throws {
        func summary(_ index: UInt64) -> BucketSummary {
            BucketSummary(index: index, digest: DigestPrefix(count: 1, sum: 1))
        }
        for bad in [[summary(5), summary(5)], [summary(6), summary(5)]] {
            #expect(throws: WireError.malformed) { _ = try PeerMessage.decode(PeerMessage.differ(.root, bad).encoded) }
        }
        let bucket = try #require(TimeBucket(level: 1, index: 4))
        #expect(throws: WireError.malformed) {
            _ = try PeerMessage.decode(PeerMessage.differ(bucket, [summary(5 << 8)]).encoded)
        }
        let many = (0...UInt64(PeerMessage.summariesMax)).map(summary)
        #expect(throws: WireError.tooMany) { _ = try PeerMessage.decode(PeerMessage.differ(.root, many).encoded) }
        let sift = Sift(range: ReferenceRange(.root), salt: .quick(1), bytesMax: 1, known: [2, 1])
        #expect(throws: WireError.malformed) { _ = try PeerMessage.decode(PeerMessage.sift(sift).encoded) }
    }

    /// Two ids that have one fingerprint are told apart by another salt.
    @Test func fingerprintsDependOnTheSalt() {
        func collisions(_ salt: UInt64) -> Set<UInt32> {
            var seen: Set<UInt32> = []
            var twice: Set<UInt32> = []
            for number in 0..<100_000 as Range<UInt64> {
                let reference = EntryReference(hlc: .zero, idPrefix: number &* 0x9E37_79B9_7F4A_7C15)
                let fingerprint = Fingerprint.of(reference, salt: salt)
                if !seen.insert(fingerprint).inserted { twice.insert(fingerprint) }
            }
            return twice
        }
        let (first, second) = (collisions(1), collisions(2))
        #expect(first.count < 40 && second.count < 40 && first.isDisjoint(with: second))
    }

    /// A counter of 64 or more is no time, wherever it stands.
    @Test func impossibleTimesAreRefused() throws {
        var writer = CBORWriter()
        writer.array(2)
        writer.unsigned(6)
        writer.byteString([0, 0, 0, 0, 0, 0, 0, 64] + [UInt8](repeating: 0, count: 8))
        #expect(throws: WireError.malformed) { _ = try PeerMessage.decode(writer.bytes) }
    }

    @Test func linkPayloads() throws {
        let payload = LinkPayload(versionMin: 1, versionMax: 3, instance: .max, port: 47474)
        #expect(LinkPayload(decoding: payload.encoded) == payload)
        #expect(LinkPayload(decoding: []) == nil)
        #expect(LinkPayload(decoding: [0x84, 0x01, 0x01, 0x01, 0x1A, 0, 1, 0, 0]) == nil, "a port over 65,535")
        let newer = LinkPayload(versionMin: 2, versionMax: 5, instance: 1, port: 0)
        #expect(payload.isCompatible(with: newer) && newer.isCompatible(with: payload))
        #expect(!LinkPayload(instance: 1, port: 0).isCompatible(with: newer))
    }
}

@Suite struct SoftRecordTests {
    @Test func onlyItsOwnerSignsIt() throws {
        let record = try PeerMessageTests.soft()
        #expect(record.verifies(workspace: PeerMessageTests.workspace))
        #expect(!record.verifies(workspace: .zero))
        let other = SigningKey(seed: Bytes32(repeating: 2))
        let stolen = SoftRecord(
            signing: record.path, value: record.value, hlc: record.hlc, ttlMs: record.ttlMs, instance: 1, by: other,
            workspace: PeerMessageTests.workspace)
        #expect(!stolen.verifies(workspace: PeerMessageTests.workspace), "another's presence")
        let changed = SoftRecord(
            author: record.author, instance: record.instance, path: record.path, hlc: record.hlc, ttlMs: record.ttlMs,
            value: .string("away"), signature: record.signature)
        #expect(!changed.verifies(workspace: PeerMessageTests.workspace))
    }

    @Test func livesAreBoundedAndPlacesAreSoft() throws {
        let key = PeerMessageTests.key
        for (path, ttlMs) in [
            ("presence/\(UID.text(key.publicKey))", SoftRecord.ttlMsMax + 1), ("apps/x", 1000),
            ("users/\(UID.text(key.publicKey))", 1000),
        ] {
            let record = SoftRecord(
                signing: try Path(parsing: path), value: .bool(true), hlc: HLC(ms: 1), ttlMs: ttlMs, instance: 1,
                by: key, workspace: PeerMessageTests.workspace)
            #expect(!record.verifies(workspace: PeerMessageTests.workspace), "\(path) \(ttlMs)")
        }
    }
}
