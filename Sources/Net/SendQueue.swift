/// Bytes that wait for the kernel to take them, oldest first.
///
/// Small messages are gathered into chunks, large ones kept as the array they came in. No byte is copied more than
/// once (amortised), however long the queue.
struct SendQueue {
    /// Up to here a message is appended to the last chunk, so that many small ones cost one system call.
    static let chunkSize = 64 * 1024

    private var chunks: [[UInt8]] = []
    /// The chunk to be sent next; those before it are spent.
    private var head = 0
    /// How much of that chunk is sent.
    private var headOffset = 0
    private(set) var count = 0

    var isEmpty: Bool {
        count == 0
    }

    /// Appends `bytes` from `offset` on.
    mutating func append(_ bytes: [UInt8], from offset: Int) {
        guard offset >= 0, offset < bytes.count else { return }
        let added = bytes.count - offset
        count += added
        if head < chunks.count, chunks[chunks.count - 1].count + added <= Self.chunkSize {
            chunks[chunks.count - 1].append(contentsOf: bytes[offset...])
        } else if offset == 0 {
            chunks.append(bytes)
        } else {
            chunks.append([UInt8](bytes[offset...]))
        }
    }

    /// The chunk to send from, and the offset in it. Empty when the queue is.
    var next: (bytes: [UInt8], offset: Int) {
        head < chunks.count ? (chunks[head], headOffset) : ([], 0)
    }

    /// Removes `sent` bytes, at most what is left of the chunk that ``next`` gave.
    mutating func advance(by sent: Int) {
        guard head < chunks.count else { return }
        let left = chunks[head].count - headOffset
        let taken = min(max(sent, 0), left)
        headOffset += taken
        count -= taken
        guard headOffset == chunks[head].count else { return }
        chunks[head] = []
        head += 1
        headOffset = 0
        if head == chunks.count {
            // The memory of a burst is given back.
            removeAll()
        } else if head >= 32, head > chunks.count / 2 {
            chunks.removeFirst(head)
            head = 0
        }
    }

    mutating func removeAll() {
        self = SendQueue()
    }
}
