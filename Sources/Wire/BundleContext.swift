internal import Seal
internal import Tree

/// What the bundles of one message have said so far and need not say again.
///
/// Writer and reader go through the same states, leaf by leaf. Everything that is left out follows from what is there,
/// so an entry comes out as it went in, to the byte.
struct BundleContext {
    /// A longer name is written each time: what is implied takes a byte of the message and its length in each entry.
    static let nameBytesMax = 256

    /// What is written of a leaf beside its time and its text; a message of the chat that follows another needs none.
    struct Parts: OptionSet {
        let rawValue: UInt64

        /// Its index does not follow that of the leaf before it, or is not 0.
        static let index = Parts(rawValue: 1)
        /// Another kind than `set`.
        static let kind = Parts(rawValue: 2)
        /// The path above its last key is not that of the leaf before it.
        static let parent = Parts(rawValue: 4)
        /// The last key is not the AutoID of its author at its time.
        static let key = Parts(rawValue: 8)
        /// Its value is written as it is, and is no message as below.
        static let value = Parts(rawValue: 16)
        /// The sender's name is not the one that this author used last.
        static let name = Parts(rawValue: 32)
        /// More children than `text` beside those that follow from the entry itself.
        static let children = Parts(rawValue: 64)

        static let all: Parts = [.index, .kind, .parent, .key, .value, .name, .children]

        /// Items of a leaf with these parts: itself, milliseconds, counter and value always.
        var itemCount: Int {
            var count = 4
            for part in [Parts.index, .kind, .parent, .key, .name] where contains(part) { count += 1 }
            return count
        }
    }

    private(set) var authors: [Bytes32] = []
    private var numbers: [Bytes32: Int] = [:]
    private var names: [Bytes32: String] = [:]
    /// The same as the writer has them: CBOR text items.
    private var nameItems: [Bytes32: ArraySlice<UInt8>] = [:]
    private(set) var parents: [[Key]] = []
    private var parentNumbers: [[Key]: Int] = [:]
    /// The path above the last key of the leaf before, and its milliseconds.
    private(set) var parent: [Key] = []
    var ms: UInt64 = 0

    func number(ofParent parent: [Key]) -> Int? { parentNumbers[parent] }

    mutating func enter(_ parent: [Key]) {
        self.parent = parent
        guard parentNumbers[parent] == nil else { return }
        parentNumbers[parent] = parents.count
        parents.append(parent)
    }

    func number(of author: Bytes32) -> Int? { numbers[author] }

    mutating func meet(_ author: Bytes32) {
        guard numbers[author] == nil else { return }
        numbers[author] = authors.count
        authors.append(author)
    }

    func name(of author: Bytes32) -> String? { names[author] }

    mutating func use(_ name: String, by author: Bytes32) {
        names[author] = name.utf8.count <= BundleContext.nameBytesMax ? name : nil
    }

    func nameItem(of author: Bytes32) -> ArraySlice<UInt8>? { nameItems[author] }

    mutating func use(_ item: ArraySlice<UInt8>, by author: Bytes32) {
        // Its head has up to three bytes more.
        nameItems[author] = item.count <= BundleContext.nameBytesMax + 3 ? item : nil
    }

    /// The last key of a path that its entry implies.
    static func impliedKey(_ hlc: HLC, _ author: Bytes32) -> Key? { Key(AutoID(hlc: hlc, author: author).text) }
}
