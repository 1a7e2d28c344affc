internal import Chat
internal import Replication
internal import Tree

extension Node {
    /// Channels read last that count as looked at after their reader has gone.
    static let readLatelyMax = 4

    /// Tells the machine which channels somebody looks at: their last messages come before anything else when this node
    /// has been away.
    func focusChanged() {
        var channels = subscriptions.channelsLookedAt
        for channel in readLately + [generalKey].compactMap({ $0 }) where !channels.contains(channel) {
            channels.append(channel)
        }
        guard channels != focus else { return }
        focus = channels
        step(.focus(channels.compactMap { ChatPath.messages($0) }))
    }

    func noteRead(_ channel: Key) {
        readLately.removeAll { $0 == channel }
        readLately.insert(channel, at: 0)
        readLately.removeLast(max(0, readLately.count - Node.readLatelyMax))
        focusChanged()
    }
}

extension SubscriptionTable {
    /// Channels whose messages somebody follows, the last one first.
    var channelsLookedAt: [Key] {
        var channels: [Key] = []
        for number in followers.sorted().reversed() {
            guard case .window(let window)? = self[number]?.kind else { continue }
            let keys = window.key.path.keys
            guard keys.count == 3, keys[0].text == "channels", keys[2].text == "messages",
                !channels.contains(keys[1])
            else { continue }
            channels.append(keys[1])
        }
        return channels
    }
}
