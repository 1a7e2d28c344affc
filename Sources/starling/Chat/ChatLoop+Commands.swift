internal import ControlAPI
internal import ControlClient

/// What the lines of the user ask for.
extension ChatLoop {
    /// Sends a message; what could not be sent comes back into the line.
    func send(_ text: String, _ line: String) {
        let sent = attempt { client in
            let key =
                try self.unanswered.flatMap { $0.text == text ? $0.key : nil }
                ?? (client.call("tree.newKey", timeoutMs: Self.callTimeoutMs)["key"] ?? .null)
            self.unanswered = (text, key)
            try client.call(
                "message.send", ["to": .string(self.model.current), "text": .string(text), "key": key],
                timeoutMs: Self.callTimeoutMs)
            self.unanswered = nil
        }
        if !sent, editor.isEmpty { editor.replace(line) }
    }

    func carryOut(_ command: ChatInput) {
        switch command {
        case .join(let name): join(ChannelWord.bare(name))
        case .create(let name): create(ChannelWord.bare(name))
        case .who:
            let lines = Who.lines(sortedPeople, model.channels, nowMs: LocalTime.nowMs(), output)
            show(model.people(lines, sortedPeople.map(\.uid)))
        case .channels: listChannels()
        case .help: show(model.help())
        case .topic(let text): topic(text)
        case .nick(let name): call("profile.set", ["name": .string(name)])
        case .edit(let text): edit(text)
        case .delete: withLastOwn { self.call("message.delete", ["key": .string($0.key)]) }
        case .react(let emoji):
            guard let last = model.last else { return show(model.complaint("there is no message here")) }
            call("message.react", ["key": .string(last.key), "emoji": .string(emoji)])
        case .search(let text): search(text)
        case .mute(let name, let isOver):
            mark("people.mute", name, "muted", !isOver, isOver ? "is shown again" : "is not shown any more")
        case .block(let name, let isOver):
            mark("people.block", name, "blocked", !isOver, isOver ? "is not blocked any more" : "is blocked")
        case .words(let name): showWords(name)
        case .mistake(let words): show(model.complaint(Escaper.escape(words)))
        case .message, .quit: break
        }
    }

    private var sortedPeople: [PersonRow] {
        model.people.values.sorted { ($0.name, $0.uid) < ($1.name, $1.uid) }
    }

    private func call(_ method: String, _ params: JSON) {
        attempt { try $0.call(method, params, timeoutMs: Self.callTimeoutMs) }
    }

    private func mark(_ method: String, _ name: String, _ field: String, _ isOn: Bool, _ words: String) {
        attempt { client in
            let row = try PersonRow(
                json: client.call(
                    method, ["person": .string(name), field: .bool(isOn)], timeoutMs: Self.callTimeoutMs))
            self.show(self.model.take(row) + self.model.notice("\(self.model.names.shown(row.uid)) \(words)"))
        }
    }

    private func showWords(_ name: String) {
        attempt { client in
            let answer = try client.call("people.words", ["person": .string(name)], timeoutMs: Self.callTimeoutMs)
            let words = (answer["words"]?.array ?? []).compactMap(\.string).joined(separator: " ")
            self.show(
                self.model.notice(Escaper.escape(words))
                    + self.model.notice(
                        "they see the same words, or somebody is between you; if they are the same: "
                            + "starling verify-identity \(Escaper.escape(answer["uid"]?.string ?? "")) --yes"))
        }
    }

    /// Opens no channel: whoever mistypes a name would open one on all nodes.
    private func join(_ name: String) {
        attempt { client in
            do {
                try self.enter(client, "#" + name)
            } catch ClientError.refused(let error) where error.reason == .notFound {
                self.show(self.model.noChannel(name))
            }
        }
    }

    private func create(_ name: String) {
        attempt { client in
            let row = try ChannelRow(
                json: client.call("channel.create", ["name": .string(name)], timeoutMs: Self.callTimeoutMs))
            self.show(self.model.take(row))
            try self.enter(client, row.key)
        }
    }

    private func search(_ text: String) {
        attempt { client in
            let answer = try client.call(
                // One more than is shown, to know whether there are more.
                "message.search", ["text": .string(text), "limit": .int(Int64(ChatModel.foundMax + 1))],
                timeoutMs: Self.callTimeoutMs)
            self.show(self.model.found(try Fields(answer).rows("messages", MessageRow.init(json:)), by: text))
        }
    }

    private func topic(_ text: String?) {
        guard let text else {
            let topic = Escaper.escape(model.currentChannel?.topic ?? "")
            return show(
                model.notice(topic.isEmpty ? "there is no topic; /topic TEXT sets one" : "the topic is: \(topic)"))
        }
        call("channel.topic", ["channel": .string(model.current), "topic": .string(text)])
    }

    private func edit(_ text: String?) {
        withLastOwn { last in
            if let text {
                self.call("message.edit", ["key": .string(last.key), "text": .string(text)])
            } else {
                self.editor.replace("/edit " + (last.text ?? ""))
            }
        }
    }

    private func withLastOwn(_ body: (MessageRow) -> Void) {
        guard let last = model.lastOwn else { return show(model.complaint("you have written nothing here yet")) }
        body(last)
    }

    private func listChannels() {
        var table = Table()
        for row in model.channels where !row.archived { Channels.add(row, to: &table, output) }
        show(model.list(table.lines()))
    }
}
