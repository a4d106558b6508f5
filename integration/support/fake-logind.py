# systemd-logind and the part of systemd that reloads it, on the system bus that DBUS_SYSTEM_BUS_ADDRESS names: inhibitor locks as
# real file descriptors, the limit for delays, and shutdowns. The argument is the configuration file that sets the limit.
# Standard input has the commands `prepare true|false` and `refuse true|false`; standard output gets one line per event.
import os
import re
import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

MANAGER = 'org.freedesktop.login1.Manager'
DEFAULT_LIMIT_US = 5_000_000


def report(line):
    print(line, flush=True)


def configured_limit(path):
    try:
        with open(path, encoding='utf8') as file:
            found = re.search(r'^\[Login\]\nInhibitDelayMaxSec=(\d+)$', file.read(), re.MULTILINE)
    except FileNotFoundError:
        return DEFAULT_LIMIT_US
    return int(found[1]) * 1_000_000 if found else DEFAULT_LIMIT_US


class Logind(dbus.service.Object):
    def __init__(self, bus, config):
        self.config = config
        self.limit = configured_limit(config)
        self.preparing = False
        self.refusing = False
        self.locks = {}
        super().__init__(bus, '/org/freedesktop/login1')

    @dbus.service.method(MANAGER, in_signature='ssss', out_signature='h')
    def Inhibit(self, what, who, why, mode):
        if self.preparing:
            raise dbus.DBusException('The operation is already running', name='org.freedesktop.login1.OperationInProgress')
        if self.refusing:
            report('refused')
            raise dbus.DBusException('Access denied', name='org.freedesktop.DBus.Error.AccessDenied')
        ours, theirs = os.pipe()
        self.locks[ours] = (what, who, why, mode, 0, os.getpid())
        GLib.io_add_watch(ours, GLib.IO_HUP, self.released)
        report(f'lock {what} {mode} {who}: {why}')
        lock = dbus.types.UnixFd(theirs)
        os.close(theirs)
        return lock

    def released(self, fd, _condition):
        del self.locks[fd]
        os.close(fd)
        report('released')
        return False

    @dbus.service.method(MANAGER, out_signature='a(ssssuu)')
    def ListInhibitors(self):
        return list(self.locks.values())

    @dbus.service.method('org.freedesktop.DBus.Properties', in_signature='ss', out_signature='v')
    def Get(self, _interface, name):
        if name == 'InhibitDelayMaxUSec':
            return dbus.UInt64(self.limit, variant_level=1)
        if name == 'PreparingForShutdown':
            return dbus.Boolean(self.preparing, variant_level=1)
        raise dbus.DBusException(f'no property {name}', name='org.freedesktop.DBus.Error.UnknownProperty')

    @dbus.service.signal(MANAGER, signature='b')
    def PrepareForShutdown(self, active):
        self.preparing = bool(active)

    def reload(self):
        self.limit = configured_limit(self.config)
        report(f'reloaded {self.limit}')


class Systemd(dbus.service.Object):
    def __init__(self, bus, logind):
        self.logind = logind
        super().__init__(bus, '/org/freedesktop/systemd1')

    @dbus.service.method('org.freedesktop.systemd1.Manager', in_signature='ssi')
    def KillUnit(self, name, whom, signal):
        report(f'kill {name} {whom} {signal}')
        self.logind.reload()


def on_command(_fd, _condition, logind, loop):
    words = sys.stdin.readline().split()
    if not words:
        loop.quit()
        return False
    if words[0] == 'prepare':
        logind.PrepareForShutdown(words[1] == 'true')
    if words[0] == 'refuse':
        logind.refusing = words[1] == 'true'
    return True


def main():
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus = dbus.SystemBus()
    loop = GLib.MainLoop()
    logind = Logind(bus, sys.argv[1])
    Systemd(bus, logind)
    names = [dbus.service.BusName(name, bus) for name in ('org.freedesktop.login1', 'org.freedesktop.systemd1')]
    GLib.io_add_watch(sys.stdin.fileno(), GLib.IO_IN | GLib.IO_HUP, on_command, logind, loop)
    report('ready')
    loop.run()
    del names


main()
