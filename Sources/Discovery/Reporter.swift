internal import Synchronization

/// Hands events over, one at a time and no state twice in a row.
///
/// Two parties speak through it: the discovery thread, and the watchdog when that thread hangs. After a hang the thread
/// says the true state again.
final class Reporter: Sendable {
    private let lastState = Mutex<DiscoveryState?>(nil)
    private let isSilent = Atomic(false)
    private let onEvent: @Sendable (DiscoveryEvent) -> Void

    init(onEvent: @escaping @Sendable (DiscoveryEvent) -> Void) {
        self.onEvent = onEvent
    }

    /// Ends all reports. Does not wait for one that is being made.
    func silence() {
        isSilent.store(true, ordering: .releasing)
    }

    func report(_ event: DiscoveryEvent) {
        lastState.withLock { lastState in
            if case .state(let state) = event {
                guard state != lastState else {
                    return
                }
                lastState = state
            }
            if !isSilent.load(ordering: .acquiring) {
                onEvent(event)
            }
        }
    }
}
