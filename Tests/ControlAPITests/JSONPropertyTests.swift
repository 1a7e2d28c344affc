import ControlAPI
import Testing

/// Random values survive writing and reading, and random bytes never do anything but throw.
struct JSONPropertyTests {
    @Test(arguments: [UInt64.random(in: 0 ... .max), 1, 2])
    func whatIsWrittenReadsBackEqual(seed: UInt64) throws {
        var random = Seeded(seed: seed)
        for _ in 0..<200 {
            let value = Self.value(depth: 5, &random)
            let bytes = value.serialized
            let back = try JSON.parse(bytes)
            guard back == value, !bytes.contains(0x0A) else {
                Issue.record("seed \(seed): \(value)")
                return
            }
        }
    }

    @Test(arguments: [UInt64.random(in: 0 ... .max), 3])
    func damagedTextsThrowOrReadAsSomethingWritable(seed: UInt64) throws {
        var random = Seeded(seed: seed)
        for _ in 0..<500 {
            var bytes = Self.value(depth: 4, &random).serialized
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let position = Int.random(in: 0..<bytes.count, using: &random)
                bytes[position] = UInt8.random(in: .min ... .max, using: &random)
            }
            guard let value = try? JSON.parse(bytes) else { continue }
            let back = try JSON.parse(value.serialized)
            guard back == value else {
                Issue.record("seed \(seed): \(value)")
                return
            }
        }
    }

    private static func value(depth: Int, _ random: inout Seeded) -> JSON {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &random) {
        case 0: return .null
        case 1: return .bool(.random(using: &random))
        case 2: return .int(Int64(bitPattern: random.next()) >> Int64.random(in: 0...63, using: &random))
        case 3:
            let double = Double(bitPattern: random.next())
            return .double(double.isFinite ? double : 0.5)
        case 4: return .double(Double(Int.random(in: -1_000_000...1_000_000, using: &random)) / 100)
        case 5: return .string(text(&random))
        case 6: return .array((0..<Int.random(in: 0...6, using: &random)).map { _ in value(depth: depth - 1, &random) })
        default:
            var object = JSONObject()
            for _ in 0..<Int.random(in: 0...20, using: &random) {
                object[text(&random)] = value(depth: depth - 1, &random)
            }
            return .object(object)
        }
    }

    private static func text(_ random: inout Seeded) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...12, using: &random) {
            let limit: UInt32 = [0x20, 0x80, 0x80, 0x800, 0x11_0000].randomElement(using: &random) ?? 0x80
            if let scalar = Unicode.Scalar(UInt32.random(in: 0..<limit, using: &random)) { text.append(scalar) }
        }
        return String(text)
    }
}
