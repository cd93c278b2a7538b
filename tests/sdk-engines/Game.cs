// A game in C# against the native library: what it says must arrive in the files and at the server.
using System;
using System.Collections.Generic;
using System.Threading;
using FramewatchSdk;

static class Game
{
    static int Main(string[] args)
    {
        var seen = new HudFigures();
        long networks = 0, hosts = 0, stacks = 0;
        int main = Thread.CurrentThread.ManagedThreadId;
        var o = new Options
        {
            ServerUrl = args[0], ApiKey = "key-of-a-test", StoragePath = args[1], App = "Überfall",
            VersionName = "1.2", BuildId = "c0ffee", VersionCode = 12, Model = "Телефон", TargetIntervalUs = 16667,
            HardwarePeriodMs = 1000, SliceMs = 1000, Flags = StartFlags.CrashesAfterOthers,
            Network = () => { Interlocked.Increment(ref networks); return Network.Wifi; },
            HostValues = () =>
            {
                Interlocked.Increment(ref hosts);
                return new HostValues { PssKb = 123456, NativeHeapKb = -1, JavaHeapKb = 4321, StorageFreeMb = -1,
                    BatteryPermille = 777, Charging = 1, ThermalStatus = 2 };
            },
            Environment = () => new[] {
                new Evidence { Kind = EvidenceKind.Repackaged, Check = "installer", Detail = "com.example.märkte" },
                new Evidence { Kind = EvidenceKind.Developer, Check = "settings" } },
            ManagedKind = ManagedKind.Lua,
            ManagedStack = () =>
            {
                if (Thread.CurrentThread.ManagedThreadId != main)
                    Interlocked.Increment(ref stacks);
                return new[] { "rennen.lua:31: in function 'Brücke'", "main.lua:7: in main chunk" };
            },
            Log = (level, text) => Console.Error.WriteLine("{0}: {1}", level, text)
        };

        if (Framewatch.SessionId != "" || Framewatch.Hud(seen) || !Framewatch.Start(o))
            return 1;
        Framewatch.Scene("Rennen", "Straße", new Dictionary<string, long> { { "Spieler", 7 } });
        Framewatch.Step("lädt");
        Framewatch.Position(1.5f, -2.5f);
        for (int i = 0; i < 40; i++)
        {
            Framewatch.Frame();
            Framewatch.GpuTime(4321);
            Thread.Sleep(10);
        }
        if (!Framewatch.Hud(seen) || seen.FrameUs.Length < 10 || seen.FpsMilli <= 0)
            return 2;
        Framewatch.Feedback("Bug", "Die Brücke fehlt");
        Framewatch.Paused(true);
        Framewatch.Paused(false);
        for (var end = DateTime.UtcNow.AddSeconds(60);
             (Interlocked.Read(ref networks) == 0 || Interlocked.Read(ref hosts) == 0) && DateTime.UtcNow < end;)
        {
            Framewatch.Frame();
            Thread.Sleep(10);
        }
        Framewatch.Frame();
        for (var end = DateTime.UtcNow.AddSeconds(60); Interlocked.Read(ref stacks) == 0 && DateTime.UtcNow < end;)
            Thread.Sleep(10); // a long frame
        Framewatch.Frame();
        Console.WriteLine("{0} {1}", Framewatch.Version, Framewatch.SessionId);
        Framewatch.Stop();
        return Interlocked.Read(ref networks) > 0 && Interlocked.Read(ref hosts) > 0 && Interlocked.Read(ref stacks) > 0
            && !Framewatch.Running ? 0 : 3;
    }
}
