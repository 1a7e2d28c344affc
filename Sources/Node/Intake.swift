internal import Replication
internal import Seal
internal import Tree
internal import Wire

/// Messages from one peer in the order of their arrival, from the first one on whose bundles are read and verified
/// beside the loop.
struct Intake {
    /// Bytes of messages of one peer, and of all, that wait for it; beyond that nothing more is read from them. Read, a
    /// message takes about ten times as much memory.
    static let bytesMax = 256 << 10
    static let totalBytesMax = 1 << 20
    /// What is no longer than this is verified on the loop if nothing waits before it: some twenty signatures take less
    /// time than a hop to another thread and back may.
    static let inlineBytesMax = 8 << 10
    /// Entries of several messages that are stored in one transaction: those of one bundle then change its proofs once.
    static let togetherMax = 2000
    /// And on a machine that is slow, or busy with something else: about a message.
    static let togetherMin = 250
    /// The same while somebody else writes, who waits for the transaction.
    static let togetherBriefMax = 128

    /// What a message came to.
    enum Judged: Sendable {
        case bundles([Bundle], Admission.Outcome)
        /// Any other message; nil for one of a kind that is not known.
        case message(PeerMessage?)
        case malformed(WireError)

        init(_ bytes: [UInt8], workspace: Bytes32, known: VerifiedSignatures) {
            do throws(WireError) {
                let message = try PeerMessage.decode(bytes)
                if case .bundles(let bundles)? = message {
                    self = .bundles(bundles, Admission.judge(bundles, workspace: workspace, known: known))
                } else {
                    self = .message(message)
                }
            } catch {
                self = .malformed(error)
            }
        }
    }

    private struct Item {
        let number: Int
        let byteCount: Int
        var judged: Judged?
    }

    /// Who sends it.
    let source: LinkSource?
    private var items: [Item] = []
    private var lastNumber = 0
    private(set) var byteCount = 0

    init(from source: LinkSource?) { self.source = source }

    var isEmpty: Bool { items.isEmpty }

    /// Whether the next one is judged.
    var isReady: Bool { items.first?.judged != nil }

    /// Puts a message at the end and returns its number.
    mutating func append(byteCount: Int) -> Int {
        lastNumber += 1
        items.append(Item(number: lastNumber, byteCount: byteCount))
        self.byteCount += byteCount
        return lastNumber
    }

    mutating func set(_ number: Int, _ judged: Judged) {
        guard let index = items.firstIndex(where: { $0.number == number }) else { return }
        items[index].judged = judged
    }

    /// Takes the first message, once it is judged.
    mutating func next() -> Judged? {
        guard let first = items.first, let judged = first.judged else { return nil }
        items.removeFirst()
        byteCount -= first.byteCount
        return judged
    }
}
