internal import ControlAPI
internal import Net
internal import Replication
internal import Seal
internal import Store
internal import Tree

/// Whose clocks are wrong, in numbers and in words.
extension Node {
    /// A clock this far off is worth a word.
    static let wrongClockMsMin: Int64 = 60_000
    /// Over it is when the clock is nearer than this.
    private static let rightClockMsMax: Int64 = 30_000

    /// Adds to `status` what is known of clocks.
    func addTime(to row: inout StatusRow) throws {
        let now = moment
        let workspaceMs = Int64(clamping: replicator.workspaceMs(now))
        row.offsetMs = workspaceMs &- Int64(clamping: now.wallMs)
        noticeClock(offsetMs: row.offsetMs)
        row.heldAuthors = try store.heldAuthors.map { held in
            HeldRow(
                uid: UID.text(held.author), name: try displayName(of: held.author), count: Int64(held.count),
                skewMs: Int64(clamping: held.latest.ms) &- workspaceMs)
        }
    }

    /// Follows whether this machine's clock is wrong.
    func noticeClock() {
        let now = moment
        noticeClock(offsetMs: Int64(clamping: replicator.workspaceMs(now)) &- Int64(clamping: now.wallMs))
    }

    /// Alone nobody knows better, unless the clock shows a time before there was this program.
    private func noticeClock(offsetMs: Int64) {
        let size = Int64(clamping: offsetMs.magnitude)
        let isAlone = connectedNodes.isEmpty
        if size >= Node.wrongClockMsMin, !isAlone || WallClock.milliseconds() < Node.buildMs {
            let way = offsetMs > 0 ? "behind" : "ahead"
            let wrong = isAlone ? "is wrong" : "is \(Node.span(size)) \(way) of the others"
            begin(
                NoticeRow(
                    kind: .clock,
                    text: "this machine's clock \(wrong); messages are stamped with the common time instead. Set the "
                        + "clock, for instance with: timedatectl set-ntp true"))
        } else if size < Node.rightClockMsMax {
            end(.clock, "this machine's clock is right again")
        }
    }

    private static func span(_ milliseconds: Int64) -> String {
        let minutes = milliseconds / 60_000
        if minutes < 120 { return "\(minutes) minutes" }
        return minutes < 48 * 60 ? "\(minutes / 60) hours" : "\(minutes / (24 * 60)) days"
    }
}
