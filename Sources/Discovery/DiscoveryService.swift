internal import Synchronization

/// Announces this service on the local network and finds others, through Avahi's dns_sd.
///
/// Everything is done on one thread of its own, because calls can block for 25 s; no method here ever blocks. That
/// Avahi or D-Bus is missing, hangs or restarts is a ``DiscoveryState``: discovery goes on by itself as soon as it can.
public final class DiscoveryService: Sendable {
    private let configuration: DiscoveryConfiguration
    private let mailbox: Mailbox?
    private let reporter: Reporter
    private let isStarted = Atomic(false)

    /// A service that does nothing until it is started.
    ///
    /// - `onEvent`: called on the discovery thread, or on a queue of the system when that thread hangs; never by
    ///   two at once. It must return soon. It may call this object's methods.
    public init(configuration: DiscoveryConfiguration, onEvent: @escaping @Sendable (DiscoveryEvent) -> Void) {
        Self.prepareProcess()
        self.configuration = configuration
        mailbox = Mailbox()
        reporter = Reporter(onEvent: onEvent)
    }

    deinit {
        stop()
    }

    /// Prepares the process for Avahi's library. Changes the environment (setenv(3)), so call it first thing in a
    /// program, before there are threads; otherwise the first instance does it.
    public static func prepareProcess() {
        ServiceRef.prepareProcess()
    }

    /// Starts announcing and looking. Further calls do nothing.
    public func start() {
        guard isStarted.compareExchange(expected: false, desired: true, ordering: .relaxed).exchanged else {
            return
        }
        guard let mailbox, DiscoveryThread.start(configuration, mailbox, reporter) else {
            return reporter.report(.state(.down(.noThread)))
        }
    }

    /// Takes the announcement back and ends. Returns at once; an event that is on its way may still be delivered.
    ///
    /// The thread ends when it can; a process that exits meanwhile loses nothing, because Avahi takes back the
    /// announcements of a process that is gone.
    public func stop() {
        reporter.silence()
        mailbox?.add { $0.mustStop = true }
    }

    /// Looks afresh: all that is announced is resolved again, and what is announced no longer is reported as lost.
    public func rescan() {
        mailbox?.add { $0.mustRescan = true }
    }

    /// Resolves an instance again and reports it, on every interface it is seen on. To be called after each failed
    /// connection, because a changed port causes no event by itself. Unknown instances are ignored.
    public func resolveAgain(_ instance: String) {
        mailbox?.add(instance: instance)
    }

    /// Begins anew at once, without waiting for the next attempt: after the network has changed or the machine has
    /// slept.
    public func rebuild() {
        mailbox?.add { $0.mustRebuild = true }
    }

    /// Tells whether any peer is connected. While none is, ``rescan()`` happens by itself, after 30 s, 1, 2 and
    /// 5 minutes, then every 10 minutes. At the start none is.
    public func setConnected(_ isConnected: Bool) {
        mailbox?.add { $0.isConnected = isConnected }
    }

    /// Announces another port.
    ///
    /// - Throws: ``DiscoveryError/Code/invalidPort`` for 0.
    public func update(port: UInt16) throws(DiscoveryError) {
        guard port != 0 else {
            throw DiscoveryError(.invalidPort)
        }
        mailbox?.add { $0.port = port }
    }

    /// Announces another TXT record. Others see it when they resolve this instance the next time.
    ///
    /// - Throws: ``DiscoveryError/Code/txtTooLong`` or ``DiscoveryError/Code/invalidTXTKey``.
    public func update(txt: [(String, [UInt8])]) throws(DiscoveryError) {
        let record = try TXTRecord.encode(txt)
        mailbox?.add { $0.txt = record }
    }
}
