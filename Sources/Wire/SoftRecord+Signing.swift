internal import CBOR
public import Seal
public import Tree

extension SoftRecord {
    /// Signs a record.
    public init(
        signing path: Path, value: Value, hlc: HLC, ttlMs: UInt64, instance: UInt64, by key: SigningKey,
        workspace: Bytes32
    ) {
        let message = SoftRecord.message(workspace, key.publicKey, instance, path, hlc, ttlMs, value)
        self.init(
            author: key.publicKey, instance: instance, path: path, hlc: hlc, ttlMs: ttlMs, value: value,
            signature: key.sign(message))
    }

    /// Whether the author signed it for this workspace and may send it.
    ///
    /// - `check`: what checks a signature over a message by an author.
    public func verifies(
        workspace: Bytes32, check: (Signature, [UInt8], Bytes32) -> Bool = { Ed25519.verify($0, $1, by: $2) }
    ) -> Bool {
        guard ttlMs <= SoftRecord.ttlMsMax, Ownership.softDenial(path: path, author: author) == nil else {
            return false
        }
        var writer = CBORWriter()
        value.encode(to: &writer)
        guard writer.bytes.count <= SoftRecord.valueBytesMax else { return false }
        let message = SoftRecord.message(workspace, author, instance, path, hlc, ttlMs, value)
        return check(signature, message, author)
    }

    private static func message(
        _ workspace: Bytes32, _ author: Bytes32, _ instance: UInt64, _ path: Path, _ hlc: HLC, _ ttlMs: UInt64,
        _ value: Value
    ) -> [UInt8] {
        var writer = CBORWriter()
        writer.array(8)
        writer.text("starling-soft-1")
        writer.byteString(workspace.bytes)
        writer.byteString(author.bytes)
        writer.unsigned(instance)
        writer.array(path.depth)
        for key in path.keys { writer.text(key.text) }
        writer.unsigned(hlc.rawValue)
        writer.unsigned(ttlMs)
        value.encode(to: &writer)
        return writer.bytes
    }
}
