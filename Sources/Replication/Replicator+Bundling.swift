internal import Seal
internal import Tree
internal import Wire

/// Bundles that authors make of what they have signed singly: a node that adopts one passes it on.
extension Replicator {
    /// Announcements that are remembered: what comes again is neither looked at nor passed on.
    static let sealsMax = 64
    /// Announcements that a peer gets which was not there when they were made. It hardly matters if it misses some: who
    /// fetches entries gets them with the proofs that the other side has.
    static let sealsAgainMax = 4

    /// Entries that a bundle has to have: one alone is signed already.
    private static let sealedMin = 2

    mutating func received(_ link: LinkID, _ seal: BundleSeal, _ output: inout Output) {
        guard seal.count >= Replicator.sealedMin, !seals.contains(seal),
            trusts(link), vainSeals.hasRoom(nowMs: output.nowMs), let peer = links[link]?.peer,
            accounts.with(peer, nowMs: output.nowMs, { $0.seals.hasRoom(nowMs: output.nowMs) })
        else { return }
        accounts.with(peer, nowMs: output.nowMs) { $0.seals.spend(1) }
        output.effects.append(.adopt(link, seal))
    }

    mutating func adopted(_ link: LinkID?, _ seal: BundleSeal, _ adoption: Adoption, _ output: inout Output) {
        if let link, adoption != .adopted {
            vainSeals.spend(1)
            if let peer = links[link]?.peer {
                accounts.with(peer, nowMs: output.nowMs) { $0.seals.spend(SealQuota.vain - 1) }
            }
        }
        switch adoption {
        case .forged:
            if let link { noteRefusals(1, link, output.nowMs) }
        case .ignored: break
        case .adopted:
            guard !seals.contains(seal) else { return }
            if seals.count >= Replicator.sealsMax { seals.removeFirst() }
            seals.append(seal)
            for other in orderedLinks where other != link {
                guard let state = links[other], state.peer != seal.author else { continue }
                // Whoever is connected to the author has it from there.
                if link != nil, state.connected.contains(seal.author) { continue }
                output.send(other, .rebundle(seal))
            }
        }
    }

    /// Announces the latest again to a peer that was not there.
    func announceAgain(_ link: LinkID, _ output: inout Output) {
        for seal in seals.suffix(Replicator.sealsAgainMax) where seal.author != links[link]?.peer {
            output.send(link, .rebundle(seal))
        }
    }
}
