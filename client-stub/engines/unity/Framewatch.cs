// Framewatch for Unity and other C# engines: the C API by P/Invoke. One file; copy it into the project
// beside the native library (Plugins/Android/libs/arm64-v8a/libframewatch.so, Plugins/iOS/libframewatch.a).
// Needs C# 6 and .NET Framework 4.5 or .NET Standard 2.0.
//
// Threads and ownership as in framewatch.h. Start, Stop, Frame, Hud, Consent, ResetInstallId and
// DeleteData belong to the main thread. Everything is safe to call when Start did not succeed.
using System;
using System.Collections.Generic;
using System.IO;
using System.Net;
using System.Runtime.InteropServices;
using System.Text;

namespace FramewatchSdk
{
    [Flags]
    public enum StartFlags : uint
    {
        None = 0,
        NoUpload = 1,
        NoStacks = 2,
        UploadAtStop = 4,
        NoCrashes = 8,
        CrashesAfterOthers = 16,
        WaitForConsent = 32
    }

    public enum Network { Unknown = 0, None = 1, Wifi = 2, Cellular = 3, Wired = 4 }

    public enum LogLevel { Error = 0, Warn = 1, Info = 2 }

    public enum ManagedKind { Java = 0, CSharp = 1, Lua = 2 }

    /// What the game's platform code knows; -1: unknown.
    public struct HostValues
    {
        public long PssKb, NativeHeapKb, JavaHeapKb, StorageFreeMb;
        public int BatteryPermille, Charging, ThermalStatus;
    }

    public enum EvidenceKind { Root = 0, Debugger = 1, Emulator = 2, Developer = 3, Repackaged = 4 }

    /// One thing the game found about where it runs. Evidence, never a verdict.
    public struct Evidence
    {
        public EvidenceKind Kind;
        /// Its name, at most 32 bytes: "installer". What it saw, at most 48: "com.example.market".
        public string Check, Detail;
    }

    public sealed class Options
    {
        public string ServerUrl, ApiKey, StoragePath;
        public string App, VersionName, BuildId;
        public ulong VersionCode;
        public string Manufacturer, Model, Soc, Gpu, OsVersion;
        public uint ScreenWidth, ScreenHeight, RefreshMillihertz, TargetIntervalUs;
        public uint HardwarePeriodMs, SliceMs, JankStackMs;
        /// Mono and IL2CPP make exceptions of faults: their handlers come first.
        public StartFlags Flags = StartFlags.CrashesAfterOthers;

        /// All are called on the SDK's own threads, where Unity's API is out of reach: return values that
        /// the main thread keeps up to date.
        /// Network null: unknown on Android and iOS, which is metered.
        public Func<Network> Network;
        public Func<HostValues> HostValues;
        /// Once, soon after the start; at most 8 are taken. Null: none.
        public Func<IList<Evidence>> Environment;
        public Action<LogLevel, string> Log;
        /// The main thread's stack in a runtime's own words, innermost first, asked while a frame is long.
        /// It must not wait for the main thread; null: none. C#'s own stack of another thread cannot be
        /// read: Environment.StackTrace is that of the thread which asks.
        public Func<IList<string>> ManagedStack;
        public ManagedKind ManagedKind = ManagedKind.Java;
        /// True: exchanges are made here, by HttpWebRequest. False: by the library's libcurl.
        public bool ManagedTransport = true;
    }

    public sealed class HudFigures
    {
        public uint[] FrameUs;
        public int FpsMilli, ProcessCpuPermille, TotalCpuPermille, GpuTimeUs, TemperatureMillicelsius;
        public long Janks, MemoryKb;
    }

    public static class Framewatch
    {
#if (UNITY_IOS || UNITY_TVOS) && !UNITY_EDITOR
        const string Library = "__Internal";
#else
        const string Library = "framewatch";
#endif
        const int HudFrames = 120;

        // The structs of framewatch.h, field by field. UIntPtr: size_t. IntPtr: pointers.

        [StructLayout(LayoutKind.Sequential)]
        struct NativeDevice
        {
            public IntPtr Manufacturer, Model, Soc, Gpu, OsVersion;
            public uint ScreenWidth, ScreenHeight, RefreshMillihertz;
        }

        [StructLayout(LayoutKind.Sequential)]
        struct NativeOptions
        {
            public UIntPtr Size;
            public IntPtr ServerUrl, ApiKey, StoragePath;
            public IntPtr App, VersionName, BuildId;
            public ulong VersionCode;
            public NativeDevice Device;
            public uint TargetIntervalUs;
            public uint HardwarePeriodMs, SliceMs, JankStackMs, Flags;
            public IntPtr Transport, Network, Log, User;
            public IntPtr HostValues, Environment;
            public IntPtr Allocate, Release, ManagedStack;
        }

        [StructLayout(LayoutKind.Sequential)]
        struct NativeHostValues
        {
            public UIntPtr Size;
            public long PssKb, NativeHeapKb, JavaHeapKb, StorageFreeMb;
            public int BatteryPermille, Charging, ThermalStatus;
        }

        [StructLayout(LayoutKind.Sequential)]
        struct NativeEvidence
        {
            public int Kind;
            public IntPtr Check, Detail;
        }

        [StructLayout(LayoutKind.Sequential)]
        struct NativeAttribute
        {
            public IntPtr Key;
            public long Value;
        }

        [StructLayout(LayoutKind.Sequential)]
        struct NativeHud
        {
            public UIntPtr Size;
            [MarshalAs(UnmanagedType.ByValArray, SizeConst = HudFrames)]
            public uint[] FrameUs;
            public UIntPtr Frames;
            public int FpsMilli;
            public long Janks;
            public int ProcessCpuPermille, TotalCpuPermille;
            public long MemoryKb;
            public int GpuTimeUs, TemperatureMillicelsius;
        }

        [StructLayout(LayoutKind.Sequential)]
        struct NativeRequest
        {
            public IntPtr Method, Url, Headers, Body;
            public UIntPtr BodyLength;
            public uint TimeoutMs;
            public int Status;
            public IntPtr Sink, OnHeader, OnBody;
        }

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)] delegate int TransportCall(IntPtr user, IntPtr request);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)] delegate int NetworkCall(IntPtr user);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)] delegate void LogCall(IntPtr user, int level, IntPtr text);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)] delegate void HostCall(IntPtr user, IntPtr values);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)] delegate UIntPtr EnvironmentCall(IntPtr user, IntPtr rows, UIntPtr max);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)] delegate void ManagedCall(IntPtr user, IntPtr stack);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)] delegate void HeaderCall(IntPtr sink, IntPtr name, IntPtr value);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)] delegate void BodyCall(IntPtr sink, byte[] bytes, UIntPtr n);

        const CallingConvention C = CallingConvention.Cdecl;
        [DllImport(Library, CallingConvention = C)] static extern void fw_options_init_sized(ref NativeOptions options, UIntPtr size);
        [DllImport(Library, CallingConvention = C)] static extern void fw_managed_frame(IntPtr stack, int kind, byte[] text);
        [DllImport(Library, CallingConvention = C)] static extern IntPtr fw_start(ref NativeOptions options);
        [DllImport(Library, CallingConvention = C)] static extern int fw_stop(IntPtr fw);
        [DllImport(Library, CallingConvention = C)] static extern void fw_frame(IntPtr fw);
        [DllImport(Library, CallingConvention = C)] static extern void fw_frame_at(IntPtr fw, ulong presentNs);
        [DllImport(Library, CallingConvention = C)] static extern void fw_target(IntPtr fw, uint intervalUs, uint millihertz);
        [DllImport(Library, CallingConvention = C)]
        static extern void fw_scene(IntPtr fw, byte[] mode, byte[] map, NativeAttribute[] attributes, UIntPtr n);
        [DllImport(Library, CallingConvention = C)] static extern void fw_position(IntPtr fw, float x, float y);
        [DllImport(Library, CallingConvention = C)] static extern void fw_step(IntPtr fw, byte[] name);
        [DllImport(Library, CallingConvention = C)] static extern void fw_background(IntPtr fw);
        [DllImport(Library, CallingConvention = C)] static extern void fw_foreground(IntPtr fw);
        [DllImport(Library, CallingConvention = C)] static extern void fw_low_memory(IntPtr fw);
        [DllImport(Library, CallingConvention = C)] static extern void fw_gpu_time(IntPtr fw, uint gpuUs);
        [DllImport(Library, CallingConvention = C)] static extern void fw_feedback(IntPtr fw, byte[] category, byte[] text);
        [DllImport(Library, CallingConvention = C)] static extern void fw_thread_begin(IntPtr fw);
        [DllImport(Library, CallingConvention = C)] static extern void fw_thread_end(IntPtr fw);
        [DllImport(Library, CallingConvention = C)] static extern int fw_consent(IntPtr fw, int given);
        [DllImport(Library, CallingConvention = C)] static extern int fw_reset_install_id(IntPtr fw);
        [DllImport(Library, CallingConvention = C)] static extern int fw_delete_data(IntPtr fw);
        [DllImport(Library, CallingConvention = C)] static extern int fw_hud(IntPtr fw, ref NativeHud figures);
        [DllImport(Library, CallingConvention = C)] static extern void fw_session_id(IntPtr fw, byte[] id);
        [DllImport(Library, CallingConvention = C)] static extern IntPtr fw_version();

        static IntPtr handle;
        static Options given;
        // The library keeps pointers to them: they must live as long as the session.
        static readonly TransportCall transport = OnTransport;
        static readonly NetworkCall network = OnNetwork;
        static readonly LogCall log = OnLog;
        static readonly HostCall host = OnHost;
        static readonly EnvironmentCall environment = OnEnvironment;
        static readonly ManagedCall managed = OnManaged;
        static readonly List<IntPtr> evidence = new List<IntPtr>();
        static NativeHud hud = new NativeHud { FrameUs = new uint[HudFrames] };

        public static bool Running { get { return handle != IntPtr.Zero; } }
        public static string Version { get { return Text(fw_version()); } }

        /// False: the game runs without a profiler; Options.Log was told why.
        public static bool Start(Options o)
        {
            if (Running)
                return true;
            if (!SameLayout())
            {
                if (o.Log != null)
                    o.Log(LogLevel.Error, "Framewatch.cs and the native library are of different versions");
                return false;
            }
            var texts = new List<IntPtr>();
            var n = new NativeOptions { Size = SizeOf<NativeOptions>() };
            n.ServerUrl = Utf8(o.ServerUrl, texts);
            n.ApiKey = Utf8(o.ApiKey, texts);
            n.StoragePath = Utf8(o.StoragePath, texts);
            n.App = Utf8(o.App, texts);
            n.VersionName = Utf8(o.VersionName, texts);
            n.BuildId = Utf8(o.BuildId, texts);
            n.VersionCode = o.VersionCode;
            n.Device = new NativeDevice
            {
                Manufacturer = Utf8(o.Manufacturer, texts), Model = Utf8(o.Model, texts), Soc = Utf8(o.Soc, texts),
                Gpu = Utf8(o.Gpu, texts), OsVersion = Utf8(o.OsVersion, texts), ScreenWidth = o.ScreenWidth,
                ScreenHeight = o.ScreenHeight, RefreshMillihertz = o.RefreshMillihertz
            };
            n.TargetIntervalUs = o.TargetIntervalUs;
            n.HardwarePeriodMs = o.HardwarePeriodMs;
            n.SliceMs = o.SliceMs;
            n.JankStackMs = o.JankStackMs;
            n.Flags = (uint)o.Flags;
            if (o.ManagedTransport)
                n.Transport = Marshal.GetFunctionPointerForDelegate(transport);
            if (o.Network != null)
                n.Network = Marshal.GetFunctionPointerForDelegate(network);
            if (o.HostValues != null)
                n.HostValues = Marshal.GetFunctionPointerForDelegate(host);
            if (o.Environment != null)
                n.Environment = Marshal.GetFunctionPointerForDelegate(environment);
            if (o.ManagedStack != null)
                n.ManagedStack = Marshal.GetFunctionPointerForDelegate(managed);
            if (o.Log != null)
                n.Log = Marshal.GetFunctionPointerForDelegate(log);
            given = o;
            handle = fw_start(ref n);
            foreach (var text in texts)
                Marshal.FreeHGlobal(text);
            return Running;
        }

        /// Not from a callback of the options: there it is refused, and the session goes on.
        public static bool Stop()
        {
            if (fw_stop(handle) == 0)
                return false;
            handle = IntPtr.Zero;
            FreeEvidence();
            return true;
        }

        /// Once a frame, right after present: in Unity from WaitForEndOfFrame.
        public static void Frame() { fw_frame(handle); }
        public static void FrameAt(ulong presentNs) { fw_frame_at(handle, presentNs); }
        public static void Target(uint intervalUs, uint refreshMillihertz) { fw_target(handle, intervalUs, refreshMillihertz); }

        public static void Scene(string mode, string map, IDictionary<string, long> attributes = null)
        {
            var texts = new List<IntPtr>();
            var list = new NativeAttribute[attributes == null ? 0 : attributes.Count];
            int i = 0;

            if (attributes != null)
                foreach (var a in attributes)
                    list[i++] = new NativeAttribute { Key = Utf8(a.Key, texts), Value = a.Value };
            fw_scene(handle, Utf8(mode), Utf8(map), list, new UIntPtr((uint)i));
            foreach (var text in texts)
                Marshal.FreeHGlobal(text);
        }

        public static void Position(float x, float y) { fw_position(handle, x, y); }
        public static void Step(string name) { fw_step(handle, Utf8(name)); }
        /// From OnApplicationPause.
        public static void Paused(bool paused)
        {
            if (paused)
                fw_background(handle);
            else
                fw_foreground(handle);
        }
        public static void LowMemory() { fw_low_memory(handle); }
        public static void GpuTime(uint gpuUs) { fw_gpu_time(handle, gpuUs); }
        public static void Feedback(string category, string text) { fw_feedback(handle, Utf8(category), Utf8(text)); }
        public static void ThreadBegin() { fw_thread_begin(handle); }
        public static void ThreadEnd() { fw_thread_end(handle); }
        /// These three too: false from a callback of the options.
        public static bool Consent(bool yes) { return fw_consent(handle, yes ? 1 : 0) != 0; }
        public static bool ResetInstallId() { return fw_reset_install_id(handle) != 0; }
        public static bool DeleteData() { return fw_delete_data(handle) != 0; }

        /// 32 hex digits; "" without a session.
        public static string SessionId
        {
            get
            {
                var id = new byte[33];
                fw_session_id(handle, id);
                return Encoding.ASCII.GetString(id).TrimEnd('\0');
            }
        }

        /// False: no session runs, all is -1.
        public static bool Hud(HudFigures into)
        {
            hud.Size = SizeOf<NativeHud>();
            int known = fw_hud(handle, ref hud);
            int n = (int)hud.Frames;

            if (into.FrameUs == null || into.FrameUs.Length != n)
                into.FrameUs = new uint[n];
            Array.Copy(hud.FrameUs, into.FrameUs, n);
            into.FpsMilli = hud.FpsMilli;
            into.Janks = hud.Janks;
            into.ProcessCpuPermille = hud.ProcessCpuPermille;
            into.TotalCpuPermille = hud.TotalCpuPermille;
            into.MemoryKb = hud.MemoryKb;
            into.GpuTimeUs = hud.GpuTimeUs;
            into.TemperatureMillicelsius = hud.TemperatureMillicelsius;
            return known != 0;
        }

        // Marshalling.

        static UIntPtr SizeOf<T>() { return new UIntPtr((uint)Marshal.SizeOf(typeof(T))); }

        /// Whether the library knows all of these options.
        static bool SameLayout()
        {
            var n = new NativeOptions();
            fw_options_init_sized(ref n, SizeOf<NativeOptions>());
            return n.Size == SizeOf<NativeOptions>();
        }

        static byte[] Utf8(string text) { return text == null ? null : Encoding.UTF8.GetBytes(text + "\0"); }

        static IntPtr Utf8(string text, List<IntPtr> keep)
        {
            var bytes = Utf8(text);
            if (bytes == null)
                return IntPtr.Zero;
            var at = Marshal.AllocHGlobal(bytes.Length);
            Marshal.Copy(bytes, 0, at, bytes.Length);
            keep.Add(at);
            return at;
        }

        static string Text(IntPtr at)
        {
            int n = 0;
            while (Marshal.ReadByte(at, n) != 0)
                n++;
            var bytes = new byte[n];
            Marshal.Copy(at, bytes, 0, n);
            return Encoding.UTF8.GetString(bytes);
        }

        // Callbacks. No exception may leave them.

        [MonoPInvokeCallback(typeof(NetworkCall))]
        static int OnNetwork(IntPtr user)
        {
            try { return (int)given.Network(); }
            catch (Exception) { return (int)Network.Unknown; }
        }

        [MonoPInvokeCallback(typeof(LogCall))]
        static void OnLog(IntPtr user, int level, IntPtr text)
        {
            try { given.Log((LogLevel)level, Text(text)); }
            catch (Exception) { }
        }

        [MonoPInvokeCallback(typeof(HostCall))]
        static void OnHost(IntPtr user, IntPtr values)
        {
            try
            {
                var n = (NativeHostValues)Marshal.PtrToStructure(values, typeof(NativeHostValues));
                var v = given.HostValues();
                n.PssKb = v.PssKb;
                n.NativeHeapKb = v.NativeHeapKb;
                n.JavaHeapKb = v.JavaHeapKb;
                n.StorageFreeMb = v.StorageFreeMb;
                n.BatteryPermille = v.BatteryPermille;
                n.Charging = v.Charging;
                n.ThermalStatus = v.ThermalStatus;
                Marshal.StructureToPtr(n, values, false);
            }
            catch (Exception) { }
        }

        [MonoPInvokeCallback(typeof(EnvironmentCall))]
        static UIntPtr OnEnvironment(IntPtr user, IntPtr rows, UIntPtr max)
        {
            try
            {
                var found = given.Environment();
                int n = found == null ? 0 : Math.Min(found.Count, (int)max);
                FreeEvidence();
                for (int i = 0; i < n; i++)
                {
                    var row = new NativeEvidence
                    {
                        Kind = (int)found[i].Kind, Check = Utf8(found[i].Check, evidence),
                        Detail = Utf8(found[i].Detail, evidence)
                    };
                    Marshal.StructureToPtr(row, new IntPtr(rows.ToInt64() + i * Marshal.SizeOf(typeof(NativeEvidence))), false);
                }
                return new UIntPtr((uint)n);
            }
            catch (Exception) { return UIntPtr.Zero; }
        }

        /// The library reads the texts until the next call, or the end of the session.
        static void FreeEvidence()
        {
            foreach (var text in evidence)
                Marshal.FreeHGlobal(text);
            evidence.Clear();
        }

        [MonoPInvokeCallback(typeof(ManagedCall))]
        static void OnManaged(IntPtr user, IntPtr stack)
        {
            try
            {
                var frames = given.ManagedStack();
                for (int i = 0; frames != null && i < frames.Count; i++)
                    fw_managed_frame(stack, (int)given.ManagedKind, Utf8(frames[i]));
            }
            catch (Exception) { }
        }

        [MonoPInvokeCallback(typeof(TransportCall))]
        static int OnTransport(IntPtr user, IntPtr request)
        {
            try
            {
                var n = (NativeRequest)Marshal.PtrToStructure(request, typeof(NativeRequest));
                n.Status = Exchange(n);
                Marshal.StructureToPtr(n, request, false);
                return 0;
            }
            catch (Exception) { return -1; }
        }

        static HttpWebRequest MakeRequest(NativeRequest n)
        {
            var r = (HttpWebRequest)WebRequest.Create(Text(n.Url));
            r.Method = Text(n.Method);
            r.Timeout = r.ReadWriteTimeout = (int)n.TimeoutMs;
            r.AllowAutoRedirect = false;
            r.ServicePoint.Expect100Continue = false;
            for (int i = 0; ; i++)
            {
                var at = Marshal.ReadIntPtr(n.Headers, i * IntPtr.Size);
                if (at == IntPtr.Zero)
                    break;
                var line = Text(at);
                int colon = line.IndexOf(':');
                var name = line.Substring(0, colon);
                var value = line.Substring(colon + 1).Trim();
                if (name.Equals("Content-Type", StringComparison.OrdinalIgnoreCase))
                    r.ContentType = value;
                else if (name.Equals("Content-Length", StringComparison.OrdinalIgnoreCase))
                    r.ContentLength = long.Parse(value);
                else if (name.Equals("Accept", StringComparison.OrdinalIgnoreCase))
                    r.Accept = value;
                else if (name.Equals("User-Agent", StringComparison.OrdinalIgnoreCase))
                    r.UserAgent = value;
                else
                    r.Headers[name] = value;
            }
            return r;
        }

        static int Exchange(NativeRequest n)
        {
            var r = MakeRequest(n);
            int length = (int)n.BodyLength;
            if (length > 0)
            {
                var body = new byte[length];
                Marshal.Copy(n.Body, body, 0, length);
                r.ContentLength = length;
                using (var to = r.GetRequestStream())
                    to.Write(body, 0, length);
            }
            else if (r.Method == "POST" || r.Method == "PATCH")
                r.ContentLength = 0;
            HttpWebResponse answer;
            try { answer = (HttpWebResponse)r.GetResponse(); }
            catch (WebException e)
            {
                answer = e.Response as HttpWebResponse; // 4xx and 5xx are answers
                if (answer == null)
                    return 0;
            }
            using (answer)
            {
                Deliver(n, answer);
                return (int)answer.StatusCode;
            }
        }

        static void Deliver(NativeRequest n, HttpWebResponse answer)
        {
            var onHeader = (HeaderCall)Marshal.GetDelegateForFunctionPointer(n.OnHeader, typeof(HeaderCall));
            var onBody = (BodyCall)Marshal.GetDelegateForFunctionPointer(n.OnBody, typeof(BodyCall));

            foreach (string name in answer.Headers)
            {
                var texts = new List<IntPtr>();
                onHeader(n.Sink, Utf8(name, texts), Utf8(answer.Headers[name], texts));
                foreach (var text in texts)
                    Marshal.FreeHGlobal(text);
            }
            using (var from = answer.GetResponseStream())
            {
                var block = new byte[4096];
                for (int got; from != null && (got = from.Read(block, 0, block.Length)) > 0;)
                    onBody(n.Sink, block, new UIntPtr((uint)got));
            }
        }
    }

    // IL2CPP looks for it by name, in any namespace.
    [AttributeUsage(AttributeTargets.Method)]
    sealed class MonoPInvokeCallbackAttribute : Attribute
    {
        public MonoPInvokeCallbackAttribute(Type type) { Type = type; }
        public Type Type { get; private set; }
    }
}
