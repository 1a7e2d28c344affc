import Foundation
import Testing

@testable import Seal

/// The bytes that a hexadecimal literal means.
func bytes(_ hex: String) throws -> [UInt8] {
    try #require(Hex.decode(hex), "\(hex)")
}

func bytes32(_ hex: String) throws -> Bytes32 {
    try #require(Bytes32(hex: hex), "\(hex)")
}

/// A file of Tests/SealTests/Vectors.
func vectors<Content: Decodable>(_ name: String, as type: Content.Type) throws -> Content {
    let url = try #require(Bundle.module.url(forResource: name, withExtension: "json", subdirectory: "Vectors"))
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return try decoder.decode(type, from: Data(contentsOf: url))
}

/// SplitMix64: small, and the same everywhere for one seed.
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

    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &self) }
    }

    /// `bytes` cut into pieces of 0 to `sizeMax` bytes.
    mutating func cut(_ bytes: [UInt8], sizeMax: Int) -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 0...sizeMax, using: &self))
            rest = rest.dropFirst(piece.count)
            pieces.append(Array(piece))
        }
        return pieces
    }
}
