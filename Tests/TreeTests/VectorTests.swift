import CBOR
import Seal
import Testing
import Tree

/// The bytes that the data model fixes, against vectors made by another implementation (`Vectors/generate.py`).
@Suite struct VectorTests {
    struct EntryCase: Decodable {
        let name: String
        let kind: UInt64
        let path: [String]
        let ms: UInt64
        let counter: UInt64
        let author: HexBytes
        let value: JSONValue
        let encoded: HexBytes
        let id: HexBytes
    }

    @Test func entries() throws {
        let cases = try vectors("entries", of: EntryCase.self)
        #expect(cases.count > 30)
        for item in cases {
            let author = try item.author.bytes32()
            let hlc = HLC(ms: item.ms, counter: item.counter)
            let path = try storedPath(item.path)
            let made = try Entry(path: path, hlc: hlc, author: author, value: item.value.value, kind: item.kind)
            #expect(made.encoded == item.encoded.bytes, "\(item.name)")
            #expect(try made.id == item.id.bytes32(), "\(item.name)")
            let read = try Entry(decoding: item.encoded.bytes[...])
            #expect(read == made && read.value == made.value && read.path == path, "\(item.name)")
            #expect(read.hlc == hlc && read.author == author && read.kind == item.kind, "\(item.name)")
        }
    }

    struct AutoIDCase: Decodable {
        let author: HexBytes
        let ms: UInt64
        let counter: UInt64
        let content: HexBytes
        let text: String
    }

    @Test func autoIDs() throws {
        for item in try vectors("autoids", of: AutoIDCase.self) {
            let hlc = HLC(ms: item.ms, counter: item.counter)
            let made = AutoID(hlc: hlc, author: try item.author.bytes32(), content: item.content.bytes)
            #expect(made.text == item.text)
            let read = try #require(AutoID(item.text))
            #expect(read.hlc == hlc)
            #expect(read.isCertified(by: try item.author.bytes32(), content: item.content.bytes))
            #expect(!read.isCertified(by: Bytes32(repeating: 0x55), content: item.content.bytes))
            #expect(!read.isCertified(by: try item.author.bytes32(), content: item.content.bytes + [0]))
        }
    }

    struct NameCase: Decodable {
        let workspace: HexBytes
        let folded: String
        let key: String
    }

    @Test func nameKeys() throws {
        for item in try vectors("names", of: NameCase.self) {
            let key = AutoID.nameKey(foldedName: item.folded, workspace: try item.workspace.bytes32())
            #expect(key == item.key)
            #expect(AutoID.isNameKey(key))
        }
    }

    struct UIDCase: Decodable {
        let author: HexBytes
        let text: String
    }

    @Test func uids() throws {
        for item in try vectors("uids", of: UIDCase.self) {
            let author = try item.author.bytes32()
            #expect(UID.text(author) == item.text)
            #expect(UID.parse(item.text) == author)
        }
    }

    struct PathKeyCase: Decodable {
        let path: [String]
        let key: HexBytes
    }

    @Test func pathKeys() throws {
        for item in try vectors("pathkeys", of: PathKeyCase.self) {
            let path = try storedPath(item.path)
            #expect(PathKey(path).bytes == item.key.bytes, "\(item.path)")
            #expect(PathKey(bytes: item.key.bytes).path == path, "\(item.path)")
        }
    }

    struct BundleCase: Decodable {
        struct Proof: Decodable {
            let wanted: [Int]
            let omitted: [HexBytes]
        }

        let seed: HexBytes
        let workspace: HexBytes
        let author: HexBytes
        let ids: [HexBytes]
        let entries: [HexBytes]
        let root: HexBytes
        let message: HexBytes
        let signature: HexBytes
        let proofs: [Proof]
    }

    @Test func bundles() throws {
        for item in try vectors("bundles", of: BundleCase.self) {
            let workspace = try item.workspace.bytes32()
            let key = SigningKey(seed: try item.seed.bytes32())
            let entries = try item.entries.map { try Entry(decoding: $0.bytes[...]) }
            let ids = try item.ids.map { try $0.bytes32() }
            #expect(entries.map(\.id) == ids)
            #expect(MerkleTree.root(ids) == (try item.root.bytes32()))
            let message = Bundle.message(
                workspace: workspace, author: key.publicKey, count: ids.count, root: try item.root.bytes32())
            #expect(message == item.message.bytes)
            let whole = Bundle(signing: entries, by: key, workspace: workspace)
            #expect(whole.author == (try item.author.bytes32()))
            #expect(whole.signature == Signature(item.signature.bytes))
            for proof in item.proofs {
                let omitted = try proof.omitted.map { try $0.bytes32() }
                let part = Bundle(
                    author: whole.author, count: whole.count, signature: whole.signature,
                    leaves: proof.wanted.map { Bundle.Leaf(index: $0, entry: entries[$0]) }, omitted: omitted)
                #expect(part.root == (try item.root.bytes32()))
                #expect(part.verifies(workspace: workspace))
                let made = MerkleTree.omitted(count: ids.count, wanted: proof.wanted) { start, count in
                    MerkleTree.root(Array(ids[start..<(start + count)]))
                }
                #expect(made == omitted)
            }
        }
    }
}
