// The SDK as one file, written into Private by: client-stub/amalgamate.py Source/Framewatch/Private
using UnrealBuildTool;

public class Framewatch : ModuleRules
{
    public Framewatch(ReadOnlyTargetRules Target) : base(Target)
    {
        PCHUsage = PCHUsageMode.NoPCHs;
        bUseUnity = false; // the amalgamation is a translation unit of its own
        PublicDependencyModuleNames.AddRange(new[] { "Core", "CoreUObject", "Engine" });
        PrivateDependencyModuleNames.AddRange(new[] { "HTTP", "RenderCore", "RHI" });
        PrivateDefinitions.Add("FW_NO_CURL=1"); // exchanges go through Unreal's HTTP module
        // zstd's header and library for each platform: ThirdParty/zstd/{include,lib/PLATFORM}.
        string Zstd = System.IO.Path.Combine(PluginDirectory, "ThirdParty", "zstd");
        PrivateIncludePaths.Add(System.IO.Path.Combine(Zstd, "include"));
        PublicAdditionalLibraries.Add(System.IO.Path.Combine(Zstd, "lib", Target.Platform.ToString(), "libzstd.a"));
    }
}
