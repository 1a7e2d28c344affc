internal import Glibc

/// The one thread that touches the responder: it owns all references, waits for them with poll(2), and carries out what
/// the machine decides.
final class DiscoveryThread {
    private let configuration: DiscoveryConfiguration
    private let mailbox: Mailbox
    private let reporter: Reporter
    private let watchdog: CallWatchdog
    private var machine: DiscoveryMachine
    private var refs: [RefID: ServiceRef] = [:]
    private var random = SystemRandomNumberGenerator()

    private init(_ configuration: DiscoveryConfiguration, _ mailbox: Mailbox, _ reporter: Reporter) {
        self.configuration = configuration
        self.mailbox = mailbox
        self.reporter = reporter
        watchdog = CallWatchdog { reporter.report(.state(.down(.waiting))) }
        machine = DiscoveryMachine(
            instanceName: Array(configuration.instanceName.utf8), port: configuration.port, txt: configuration.txt)
    }

    /// Starts the thread, which ends by itself once the mailbox wishes it. False when the system gives none.
    static func start(_ configuration: DiscoveryConfiguration, _ mailbox: Mailbox, _ reporter: Reporter) -> Bool {
        let thread = DiscoveryThread(configuration, mailbox, reporter)
        let context = unsafe Unmanaged.passRetained(thread)
        // Signals are for the other threads; a new one inherits the mask.
        var (all, before) = (sigset_t(), sigset_t())
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
        var id = pthread_t()
        let error = unsafe pthread_create(
            &id, nil,
            { context in
                if let context = unsafe context {
                    unsafe Unmanaged<DiscoveryThread>.fromOpaque(context).takeRetainedValue().run()
                }
                return nil
            }, context.toOpaque())
        guard error == 0 else {
            unsafe context.release()
            return false
        }
        pthread_detach(id)
        return true
    }

    private func run() {
        step(.start)
        while true {
            let wishes = mailbox.take()
            guard !wishes.mustStop else {
                break
            }
            wishes.inputs.forEach(step)
            processReadable()
            step(.tick)
            // After a hang the last word was the watchdog's.
            if let state = machine.state {
                reporter.report(.state(state))
            }
        }
        // In the order of opening: the announcement goes first.
        for id in refs.keys.sorted() {
            release(id)
        }
    }

    /// Waits for replies, wishes or the next deadline, and hands the replies on.
    private func processReadable() {
        let ids = refs.keys.sorted()
        var descriptors = [pollfd(fd: mailbox.wakeDescriptor, events: Int16(POLLIN), revents: 0)]
        descriptors += ids.map { pollfd(fd: refs[$0]?.descriptor ?? -1, events: Int16(POLLIN), revents: 0) }
        let timeoutMs = machine.nextMs.map { Int32(clamping: max($0 - monotonicMs(), 0)) } ?? -1
        guard unsafe poll(&descriptors, nfds_t(descriptors.count), timeoutMs) > 0 else {
            return
        }
        for (id, descriptor) in zip(ids, descriptors.dropFirst()) where descriptor.revents != 0 {
            // An earlier one's reply may have closed this one.
            guard let ref = refs[id] else {
                continue
            }
            guard descriptor.revents & Int16(POLLIN) != 0 else {
                step(.reply(id, .broken))
                continue
            }
            watchdog.watch { ref.process() }
            forwardReplies(of: ref, id)
        }
    }

    private func forwardReplies(of ref: ServiceRef, _ id: RefID) {
        for reply in ref.takeReplies() where !isSkipped(reply) {
            step(.reply(id, reply))
        }
    }

    /// True for what appears on an interface that is not to be looked at. An interface that is gone has no name; what
    /// disappears with it was either never counted or is to be taken back.
    private func isSkipped(_ reply: DiscoveryMachine.Reply) -> Bool {
        guard case .browsed(isAdded: true, let key) = reply else {
            return false
        }
        var name = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
        guard unsafe if_indextoname(key.interfaceIndex, &name) != nil else {
            return true
        }
        let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return configuration.skipInterfaces(String(decoding: bytes, as: UTF8.self))
    }

    /// Feeds the machine and carries out its effects, with those that follow from them.
    private func step(_ input: DiscoveryMachine.Input) {
        var inputs = [input][...]
        while let input = inputs.popFirst() {
            let effects = machine.step(input, nowMs: monotonicMs(), random: random.next())
            for effect in effects {
                if let reply = perform(effect) {
                    inputs.append(reply)
                }
            }
        }
    }

    private func perform(_ effect: DiscoveryMachine.Effect) -> DiscoveryMachine.Input? {
        switch effect {
        case .open(let id, let request):
            return open(id, request)
        case .close(let id):
            release(id)
        case .updateTXT(let id, let txt):
            guard let ref = refs[id] else {
                return nil
            }
            let beganMs = monotonicMs()
            if !watchdog.watch({ ref.update(txt: txt) }) {
                return .reply(id, .failed(afterMs: monotonicMs() - beganMs))
            }
        case .report(let event):
            reporter.report(event)
        }
        return nil
    }

    private func open(_ id: RefID, _ request: DiscoveryMachine.Request) -> DiscoveryMachine.Input? {
        // The machine may have changed its mind, and every call to a responder that hangs costs 25 s.
        guard machine.holds(id) else {
            return nil
        }
        let beganMs = monotonicMs()
        let ref = watchdog.watch { ServiceRef(request, serviceType: configuration.serviceType) }
        guard let ref else {
            return .reply(id, .failed(afterMs: monotonicMs() - beganMs))
        }
        refs[id] = ref
        return .reply(id, .opened)
    }

    private func release(_ id: RefID) {
        if refs[id] != nil {
            watchdog.watch { refs[id] = nil }
        }
    }
}
