internal import Seal
public import Tree

/// How far a node has come with issuing anew what it wrote while its clock was far ahead.
public struct RenewalState: Sendable {
    /// Only what lies beyond this is issued anew: further ahead it is held by others, and before it some have seen it.
    public let after: HLC
    /// Keys beyond this were made by the clock that was wrong.
    let limit: HLC
    private(set) var cursor: (hlc: HLC, id: Bytes32)

    /// - `told`: up to which time others may have seen what this node wrote.
    /// - `limit`: an entry beyond it is held by others.
    public init(told: HLC, limit: HLC) {
        after = max(told, limit)
        self.limit = limit
        cursor = (after, Bytes32(repeating: 0xFF))
    }

    mutating func pass(_ stamp: Stamp) { cursor = (stamp.hlc, stamp.id) }
}

/// What one step has done.
public struct RenewalResult: Sendable {
    /// Entries that are here no more.
    public internal(set) var removed: [Entry] = []
    /// Those in their places.
    public internal(set) var added: [Entry] = []
    public internal(set) var isMoreLeft = false

    /// All whose paths have changed.
    var asCommit: CommitResult {
        var result = CommitResult()
        result.applied = removed + added
        return result
    }
}

/// Issues entries of one author anew, in the order of their times; the work of one transaction.
///
/// Each time gets a new one, which is remembered before anything else becomes of it: keys that later entries name, now
/// or after the process has died in between, are found again.
struct Renewer {
    private let storage: any Tables & NodeStore
    private var merger: Merger
    private var last: HLC

    init(_ storage: any Tables & NodeStore, killsMax: Int) {
        self.storage = storage
        merger = Merger(storage, killsMax: killsMax)
        last = .zero
    }

    mutating func renew(
        _ state: inout RenewalState, by key: SigningKey, workspace: Bytes32, workspaceMs: UInt64, limit: Int
    ) throws -> RenewalResult {
        let greatest = try storage.greatestHLC(notAfter: state.limit)
        last = max(HLC(ms: workspaceMs), greatest, try storage.greatestRenewedTime() ?? .zero)
        // A clock that runs ahead for a second time, with a table of old, must not pull the new times along.
        if last > state.limit { last = max(HLC(ms: workspaceMs), greatest) }
        let found = try storage.live(
            of: key.publicKey, after: state.cursor.hlc, id: state.cursor.id, limit: limit)
        var result = RenewalResult()
        result.isMoreLeft = found.count == limit
        for (record, entry) in found {
            state.pass(entry.stamp)
            guard let new = try renewed(entry, state, key.publicKey), Ownership.denial(of: new) == nil else { continue }
            let signature = Bundle(signing: [new], by: key, workspace: workspace).signature
            if try merger.replace(record, by: new, proof: .single(signature)) {
                result.removed.append(entry)
                result.added.append(new)
            }
        }
        try merger.finish()
        return result
    }

    /// Nil where it cannot be written anew, which only a path of the greatest length can be in the way of.
    private mutating func renewed(_ entry: Entry, _ state: RenewalState, _ author: Bytes32) throws -> Entry? {
        var issued = last
        let storage = storage
        defer { last = issued }
        let renewal = Renewal(author: author, after: state.limit) { old in
            if let known = try storage.renewedTime(of: old) { return known }
            issued = issued.next
            try storage.setRenewedTime(of: old, issued)
            return issued
        }
        do {
            return try renewal.renewed(entry)
        } catch is EntryError {
            return nil
        } catch is PathError {
            return nil
        }
    }
}

extension NodeStore {
    private static var contactSetting: String { "contact" }

    /// At start: up to which time others may have seen what this node wrote.
    ///
    /// A node that dies while others are connected may have told them everything.
    public func toldTime() throws -> HLC {
        if let bytes = try setting(Self.contactSetting), bytes.count == 8,
            let told = HLC(rawValue: bytes.reduce(0) { $0 << 8 | UInt64($1) })
        {
            return told
        }
        let greatest = try greatestHLC(notAfter: HLC.greatest)
        try endContact(told: greatest)
        return greatest
    }

    /// Remembers that from here on others see what this node writes, until ``endContact(told:)``.
    public func beginContact() throws { try setSetting(Self.contactSetting, []) }

    /// Remembers that nobody is told anything any more.
    ///
    /// - `told`: the greatest time others may have seen.
    public func endContact(told: HLC) throws {
        try setSetting(
            Self.contactSetting,
            stride(from: UInt64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: told.rawValue >> $0) })
    }
}
