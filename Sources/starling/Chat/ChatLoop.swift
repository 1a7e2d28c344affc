internal import ControlAPI
internal import ControlClient
internal import Glibc

/// The chat's loop: keys and the daemon's events in, lines and requests out.
final class ChatLoop {
    /// How often the daemon is looked for while it is away.
    private static let retryMs: Int32 = 500
    /// A daemon that starts anew is back within this; for another one the user has to do something.
    private static let patienceMs: Int64 = 3_000
    /// Nobody waits longer for a line they have typed.
    static let callTimeoutMs = 5_000

    let places: SocketPlaces
    let output: Output
    var client: ControlClient?
    var model: ChatModel
    var editor = LineEditor()
    private var decoder = KeyDecoder()
    /// When keys came last.
    private var typedAtMs: Int64 = 0
    private var screen: ChatScreen
    private var typing = TypingSignal()
    /// Id of the workspace that is shown: the daemon may come back in another one.
    private var workspace = ""
    private var subscription: JSON?
    /// Of how far one's own messages have come; nil with a daemon that does not tell.
    private var progress: JSON?
    /// A message that may or may not have been stored, with its key: sending it again cannot double it.
    var unanswered: (text: String, key: JSON)?
    /// When the daemon went away; nil while it is there.
    private var lostAtMs: Int64?
    private var isOver = false

    init(_ client: ControlClient, _ places: SocketPlaces, _ output: Output) {
        self.client = client
        self.places = places
        self.output = output
        model = ChatModel(
            uid: client.hello.uid, style: output.style, columns: output.columns,
            isPlain: StatusMark.isPlainTerminal())
        screen = ChatScreen(columns: output.columns, rows: output.rows)
    }

    func run() throws {
        try ChatTerminal.enter()
        defer {
            output.text(screen.erased())
            output.flush()
            ChatTerminal.leave()
        }
        try greet()
        while !isOver {
            // Also those that came with an answer: nothing is readable any more for them.
            if client == nil { reconnect() } else { takeEvents() }
            if let lostAtMs, ChatTerminal.nowMs() - lostAtMs >= Self.patienceMs { model.start = places.startCommand }
            draw()
            step()
        }
    }

    private func step() {
        let wake = ChatTerminal.wait(daemon: client?.fileDescriptor, timeoutMs: timeoutMs)
        if wake.resized { resize() }
        if wake.input {
            guard let bytes = ChatTerminal.read() else {
                isOver = true
                return
            }
            typedAtMs = ChatTerminal.nowMs()
            for key in decoder.feed(bytes) where !isOver { press(key) }
        } else if remainingMs == 0 {
            // Not at any wake: the daemon's events say nothing of keys.
            for key in decoder.timeOut() where !isOver { press(key) }
        }
    }

    /// How long the keys that have begun may still go on; nil if none have.
    private var remainingMs: Int64? {
        decoder.patienceMs.map { max(0, typedAtMs + $0 - ChatTerminal.nowMs()) }
    }

    private var timeoutMs: Int32 {
        let retryMs = client == nil ? Self.retryMs : -1
        guard let remainingMs else { return retryMs }
        return retryMs < 0 ? Int32(remainingMs) : min(retryMs, Int32(remainingMs))
    }

    private func resize() {
        ChatTerminal.drainWake()
        (screen.columns, screen.rows) = (output.columns, output.rows)
        model.columns = output.columns
        output.text(screen.erased())
    }

    // MARK: Drawing

    /// Puts lines above the input line.
    func show(_ lines: [String]) {
        guard !lines.isEmpty else { return }
        output.text(screen.drawn(edge(), above: lines))
    }

    private func draw() {
        output.text(screen.drawn(edge()))
        output.flush()
    }

    private func edge() -> ChatScreen.Edge {
        let status = model.status()
        let prompt = TextWidth.fitted(model.currentName, to: max(4, model.columns / 4)) + " › "
        let view = editor.view(columns: model.columns - TextWidth.of(prompt) - 1)
        return ChatScreen.Edge(
            status: status.text, statusWidth: status.width, input: output.styled(prompt, .cyan) + view.text,
            cursor: TextWidth.of(prompt) + view.cursor)
    }

    // MARK: Keys

    private func press(_ key: Key) {
        switch editor.apply(key) {
        case .nothing: break
        case .changed: tellTyping()
        case .tooLong:
            show(model.complaint("a message has at most \(LineEditor.textMax) bytes; nothing of this was taken"))
        case .submit(let line):
            submit(line)
            tellTyping()
        case .quit: isOver = true
        case .suspend:
            output.text(screen.erased())
            output.flush()
            screen.forget()
            ChatTerminal.suspend()
        case .redraw:
            output.text(screen.cleared())
        case .complete:
            switch editor.complete(model.completions) {
            case .changed: tellTyping()
            case .choices(let words): show(model.choices(words))
            default: break
            }
        case .choices: break
        }
    }

    private func tellTyping() {
        // Without a daemon nobody would see it, and who types need not hear of that at every word.
        guard client != nil else { return typing.reset() }
        let isComposing = !editor.isEmpty && editor.characters.first != "/"
        guard let isTyping = typing.keyPressed(isComposing: isComposing, nowMs: ChatTerminal.nowMs()) else { return }
        attempt { client in
            try client.notify("typing.set", ["in": .string(self.model.current), "typing": .bool(isTyping)])
        }
    }

    private func submit(_ line: String) {
        switch ChatInput(line) {
        case .quit: isOver = true
        case .message(let text):
            // A message ends the typing by itself; what the daemon shows must not say so twice.
            send(text, line)
        case let command: carryOut(command)
        }
    }

    // MARK: The daemon

    /// Does something with the daemon; shows what went wrong. False if it did.
    @discardableResult
    func attempt(_ body: (ControlClient) throws -> Void) -> Bool {
        guard let client else {
            show(model.complaint("not connected to the daemon; it is being looked for"))
            return false
        }
        do {
            try body(client)
            return true
        } catch ClientError.refused(let error) {
            show(model.complaint(Escaper.escape(error.message)))
        } catch let error as RPCError {
            show(model.complaint("this answer makes no sense here: \(Escaper.escape(error.message))"))
        } catch {
            lose(error)
        }
        return false
    }

    private func lose(_ error: any Error) {
        client = nil
        model.isConnected = false
        lostAtMs = lostAtMs ?? ChatTerminal.nowMs()
        show(model.complaint(Escaper.escape("\(error)")))
    }

    private func reconnect() {
        guard let client = try? ControlClient.connect(places, timeoutMs: 1_000) else { return }
        self.client = client
        (model.isConnected, model.start, lostAtMs) = (true, nil, nil)
        attempt { client in
            guard try Self.workspaceID(client) == self.workspace else { return try self.moveIn(client) }
            self.model.uid = client.hello.uid
            try self.observe(client, channel: self.model.current)
            self.show(self.model.notice("connected again"))
        }
    }

    /// The workspace's id; its name with a daemon that does not tell.
    private static func workspaceID(_ client: ControlClient) throws -> String {
        do throws(ClientError) {
            return try client.call("workspace.show", timeoutMs: Self.callTimeoutMs)["id"]?.string
                ?? client.hello.workspace
        } catch {
            guard case .refused = error else { throw error }
            return client.hello.workspace
        }
    }

    /// The daemon is in another workspace now: nothing that was known holds there, and who reads is to be seen.
    private func moveIn(_ client: ControlClient) throws {
        (model, unanswered) = (model.inAnotherWorkspace(uid: client.hello.uid), nil)
        typing.reset()
        try enterWorkspace(client, .yellow)
    }

    private func greet() throws {
        guard let client else { return }
        try enterWorkspace(client, .bold)
    }

    private func enterWorkspace(_ client: ControlClient, _ style: Style.Attribute) throws {
        workspace = try Self.workspaceID(client)
        let rows = try client.call("people.list", timeoutMs: Self.callTimeoutMs)
        model.fill(try Fields(rows).rows("people", PersonRow.init(json:)))
        show(model.header(workspace: client.hello.workspace, style))
        try observe(client, channel: ChatModel.general)
    }

    /// Subscribes to everything, on a new connection.
    private func observe(_ client: ControlClient, channel: String) throws {
        let rows = try client.call("channel.list", timeoutMs: Self.callTimeoutMs)
        for row in try Fields(rows).rows("channels", ChannelRow.init(json:)) { show(model.take(row)) }
        try client.call("channel.observe", timeoutMs: Self.callTimeoutMs)
        try client.call("people.observe", timeoutMs: Self.callTimeoutMs)
        try client.call("node.observe", timeoutMs: Self.callTimeoutMs)
        (subscription, progress) = (nil, nil)
        do {
            try enter(client, channel.isEmpty ? ChatModel.general : channel)
        } catch ClientError.refused(let error) where error.reason == .notFound && channel != ChatModel.general {
            show(model.complaint("\(model.currentName) is not there any more"))
            try enter(client, ChatModel.general)
        }
    }

    /// Shows another channel.
    func enter(_ client: ControlClient, _ channel: String) throws {
        let answer = try client.call(
            "message.observe", ["in": .string(channel), "limitToLast": .int(Int64(ChatModel.backlog))],
            timeoutMs: Self.callTimeoutMs)
        for old in [subscription, progress].compactMap(\.self) {
            try client.call("tree.unobserve", ["subscription": old], timeoutMs: Self.callTimeoutMs)
        }
        (subscription, progress) = (answer["subscription"], nil)
        typing.reset()
        show(model.join(answer["in"]?.string ?? channel))
        do throws(ClientError) {
            progress = try client.call(
                "message.observeStatus", ["in": .string(channel)], timeoutMs: Self.callTimeoutMs)["subscription"]
        } catch {
            // An older daemon does not tell, and nothing else needs it.
            guard case .refused = error else { throw error }
        }
    }

    private func takeEvents() {
        attempt { client in
            while let event = try client.nextEvent(timeoutMs: 0) { try self.take(event, client) }
        }
    }

    private func take(_ event: ControlEvent, _ client: ControlClient) throws {
        let params = event.params
        switch event.name {
        case "message":
            guard event.subscription == subscription, let json = params["message"] else { return }
            let row = try MessageRow(json: json)
            show(model.take(row))
            if model.isLive, row.senderId != model.uid { try markRead(client) }
        case "deleted":
            guard event.subscription == subscription else { return }
            show(model.delete(params["key"]?.string ?? ""))
        case "ready":
            guard event.subscription == subscription else { return }
            show(model.ready())
            try markRead(client)
        case "status":
            guard event.subscription == progress else { return }
            let changes = model.advance(held: params["held"]?.string, read: params["read"]?.string)
            output.text(screen.changed(changes))
        case "channel":
            if let json = params["channel"] { show(model.take(try ChannelRow(json: json))) }
        case "notice":
            if let json = params["notice"] { show(model.take(try NoticeRow(json: json))) }
        case "person":
            if let json = params["person"] { show(model.take(try PersonRow(json: json))) }
        default: break
        }
    }

    private func markRead(_ client: ControlClient) throws {
        try client.notify("read.mark", ["in": .string(model.current)])
    }
}
