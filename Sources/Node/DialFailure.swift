internal import ControlAPI
internal import Net
internal import Seal

/// The kinds of failure behind the words that ``Dialer`` keeps.
enum DialFailure {
    static let noCommonVersion = "no common protocol version"
    /// Said of whom this node does not let in, and to him.
    static let forger = "it has sent too many entries without a valid signature"
    /// Said of who has said that of this node.
    static let takenForForger =
        "it does not let this node in for a while, for too many entries without a valid signature came from here: this "
        + "machine's disk or memory may be failing"

    /// Nil for words that are about something else than the other side.
    static func kind(_ reason: String) -> PeerRow.Failure? { kinds[reason] }

    private static let kinds: [String: PeerRow.Failure] = {
        var kinds: [String: PeerRow.Failure] = [
            noCommonVersion: .version, forger: .forged, takenForForger: .forged,
        ]
        let codes: [(NetError.Code, PeerRow.Failure)] = [
            (.refused, .refused), (.timedOut, .timedOut), (.unreachable, .unreachable),
            (.addressNotAvailable, .unreachable), (.permissionDenied, .forbidden),
        ]
        for (code, kind) in codes { kinds["\(NetError(code, operation: ""))"] = kind }
        // Who has another key closes without a word.
        for end in [CloseReason.ended, .reset] { kinds["\(end)"] = .key }
        for code in [LinkError.Code.noCommonKey, .notStarling] { kinds["\(LinkError(code))"] = .key }
        return kinds
    }()
}
