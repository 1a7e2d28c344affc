public import Seal
public import Tree

extension MemoryStore {
    func live(of author: Bytes32, after hlc: HLC, id: Bytes32, limit: Int) -> [(record: Record, entry: Entry)] {
        let found = timed[timeIndex(hlc, id)...].lazy.filter { item in
            !item.isHeld && item.entry.author == author && item.entry.id != id
        }
        return found.prefix(limit).map { (record($0), $0.entry) }
    }

    func renewedTime(of old: HLC) -> HLC? { renewedTimes[old] }
    func setRenewedTime(of old: HLC, _ new: HLC) { renewedTimes[old] = new }
    func greatestRenewedTime() -> HLC? { renewedTimes.values.max() }

    public func renewedTime(ofKey hlc: HLC) -> HLC? { renewedTimes[hlc] }

    public func renew(
        _ state: inout RenewalState, by key: SigningKey, workspace: Bytes32, workspaceMs: UInt64, limit: Int
    ) throws -> RenewalResult {
        var renewer = Renewer(self, killsMax: Self.transactionEntriesMax)
        return try renewer.renew(&state, by: key, workspace: workspace, workspaceMs: workspaceMs, limit: limit)
    }
}
