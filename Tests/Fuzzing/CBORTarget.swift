internal import CBOR

/// Any bytes are refused, or are one canonical item: then `skip` and the readers of each type agree on it, and writing
/// what was read gives the same bytes.
func fuzzCBOR(_ input: [UInt8]) throws {
    var skipping = CBORReader(input)
    let skipped = try? skipping.skip()
    var reading = CBORReader(input)
    var writer = CBORWriter()
    var failure: CBORError?
    do throws(CBORError) {
        try copy(&reading, to: &writer)
    } catch {
        failure = error
    }
    if let failure {
        // `skip` knows negative integers down to -2^64, the reader of integers only those of Int64.
        try require(skipped == nil || failure == .outOfRange, "skipped, yet not read: \(failure)")
    } else {
        try require(skipped.map(Array.init) == writer.bytes, "read and written, yet not the same bytes")
    }
}

private func copy(_ reader: inout CBORReader, to writer: inout CBORWriter) throws(CBORError) {
    switch try reader.peekType() {
    case .unsigned: writer.unsigned(try reader.unsigned())
    case .negative: writer.integer(try reader.integer())
    case .bytes: writer.byteString(try reader.byteString())
    case .text: writer.text(try reader.text())
    case .bool: writer.bool(try reader.bool())
    case .float: writer.double(try reader.double())
    case .null:
        try reader.null()
        writer.null()
    case .array, .map: try copyCollection(&reader, to: &writer)
    }
}

/// Arrays and maps, checked by `skip` first: only it knows about depth and the order of keys.
private func copyCollection(_ reader: inout CBORReader, to writer: inout CBORWriter) throws(CBORError) {
    var ahead = reader
    _ = try ahead.skip()
    let isMap = try reader.peekType() == .map
    let items = isMap ? try reader.map() : try reader.array()
    if isMap { writer.map(items) } else { writer.array(items) }
    for _ in 0..<(isMap ? 2 * items : items) { try copy(&reader, to: &writer) }
}
