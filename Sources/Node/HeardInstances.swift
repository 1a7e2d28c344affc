internal import Discovery

/// What mDNS tells of, for `node.diagnose`: what is announced on which interface, of this workspace or not.
struct HeardInstances {
    /// Anybody on the network can announce as much as he likes.
    static let countMax = 512

    private struct Place: Hashable {
        let instance: String
        let interfaceIndex: UInt32
    }

    private var sightings: [Place: Sighting] = [:]

    /// In a fixed order.
    var all: [Sighting] {
        sightings.values.sorted { a, b in
            a.instance != b.instance ? a.instance < b.instance : a.interfaceIndex < b.interfaceIndex
        }
    }

    mutating func found(_ sighting: Sighting) {
        let place = Place(instance: sighting.instance, interfaceIndex: sighting.interfaceIndex)
        guard sightings.count < HeardInstances.countMax || sightings[place] != nil else { return }
        sightings[place] = sighting
    }

    mutating func lost(_ instance: String) {
        for place in sightings.keys where place.instance == instance { sightings[place] = nil }
    }
}
