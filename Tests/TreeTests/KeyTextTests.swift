import Testing
import Tree

@Suite struct KeyTextTests {
    @Test func bytesComeBack() {
        for count in 0..<64 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
            let text = KeyText.encode(bytes)
            #expect(text.utf8.count == (count * 8 + 5) / 6)
            #expect(KeyText.decode(text) == bytes, "\(count) bytes")
        }
        #expect(KeyText.encode([0, 0, 0]) == "----" && KeyText.encode([255, 255, 255]) == "zzzz")
    }

    /// One text for each sequence of bytes: no other is taken.
    @Test(arguments: ["a", "----a", "-0", "zz", "zzy!", "z z", "zzzü", "----\n"])
    func whatNoBytesHaveIsNone(text: String) {
        #expect(KeyText.decode(text) == nil)
    }
}
