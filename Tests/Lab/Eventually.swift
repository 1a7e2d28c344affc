internal import Dispatch

/// Waits until something holds that comes about in its own time and that no line or event tells of.
///
/// The condition is looked at at once and then again and again; what it throws ends the waiting.
///
/// - Parameter what: completes "did not come about: …".
/// - Returns: how long it took.
/// - Throws: `LabError` when it does not hold within the time.
@discardableResult
public func eventually(
    _ what: String, within limit: Duration, isolation: isolated (any Actor)? = #isolation,
    _ condition: () async throws -> Bool
) async throws -> Duration {
    let begin = ContinuousClock.now
    while try await !condition() {
        guard ContinuousClock.now - begin < limit else {
            throw LabError("did not come about within \(limit): \(what)")
        }
        // Leaves the processor to the programs that are being waited for.
        await withCheckedContinuation { continuation in
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(20)) { continuation.resume() }
        }
    }
    return ContinuousClock.now - begin
}
