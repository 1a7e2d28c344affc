internal import ControlAPI

/// All that doctor has looked at. What it means is for ``Diagnosis`` to say.
struct Evidence {
    enum Daemon: Equatable {
        case answers(version: String, socket: String)
        case absent(tried: [String])
        /// Something listens and does not answer, or not as a daemon does, in words.
        case broken(String)
    }

    /// The database file as it lies on the disk.
    enum DatabaseFile: Equatable {
        case absent
        case begins
        /// It does not begin as a database does.
        case foreign
    }

    var daemon = Daemon.absent(tried: [])
    /// Of this program.
    var version = ""
    /// Why the daemon that ran last ended, as the last line of its log says; nil if that is about something else.
    var lastError: String?
    /// Why the daemon does not say how it is; nil if it does, or is not there.
    var refusal: String?
    /// How a command begins that goes to the daemon that was looked at, and to no other of this user's.
    var command = "starling"
    /// The process that has the home, by its lock file; nil if nobody does.
    var holder: Int32?
    /// Whether `starlingd` was found.
    var hasDaemonProgram = true
    /// This user's.
    var uid = ""
    /// Whether the daemon is in a private workspace and not in the open one.
    var isPrivate = false
    /// What the daemon says; nil without one.
    var diagnosis: DiagnosisRow?

    var bus = SystemBus.State.absent
    var avahi = SystemBus.State.absent
    /// Whether Avahi's daemon is on this machine.
    var hasAvahiProgram = true

    var interfaces: [LocalInterface] = []
    var multicast = MulticastQuery.Result()
    /// What connecting to addresses without a link came to.
    var reached: [Endpoint: Reach.Outcome] = [:]
    /// The interface that packets to an address take.
    var routes: [IPAddress: String] = [:]
    /// The router of IPv4.
    var router: IPAddress?
    /// Whether hosts on this machine's networks have said who has their address, when somebody asked.
    var neighbours: [IPAddress: Bool] = [:]

    var isClockSynchronised = true

    /// The folder with key and database.
    var home = ""
    /// Files and folders of the daemon that exist.
    var files: [FileFacts] = []
    var user: UInt32 = 0
    var disk: DiskFacts?
    var databaseFile = DatabaseFile.absent
    /// Damaged databases that were set aside.
    var setAside: [String] = []

    /// Instances of this workspace that are announced and not linked to, each with its addresses.
    var unlinked: [String: (host: String, endpoints: [Endpoint])] {
        var found: [String: (host: String, endpoints: [Endpoint])] = [:]
        let linked = Set((diagnosis?.heard ?? []).filter(\.isConnected).map(\.instance))
        for row in diagnosis?.heard ?? [] where row.isOurs && !linked.contains(row.instance) {
            let endpoints = row.addresses.compactMap { Endpoint($0) }
            found[row.instance, default: (row.host, [])].endpoints += endpoints
        }
        return found
    }

    /// Links that are up.
    var connected: [PeerRow] { (diagnosis?.peers ?? []).filter { $0.state == .connected } }

    /// Addresses that a person, another node or memory gave, and that lead nowhere.
    var failed: [PeerRow] {
        (diagnosis?.peers ?? []).filter { $0.state != .connected && $0.path != .mdns }
    }
}
