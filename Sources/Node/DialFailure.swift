internal import ControlAPI
internal import Net
internal import Seal

/// The kinds of failure behind the words that ``Dialer`` keeps.
enum DialFailure {
    static let noCommonVersion = "no common protocol version"

    /// Nil for words that are about something else than the other side.
    static func kind(_ reason: String) -> PeerRow.Failure? { kinds[reason] }

    private static let kinds: [String: PeerRow.Failure] = {
        var kinds: [String: PeerRow.Failure] = [noCommonVersion: .version]
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
