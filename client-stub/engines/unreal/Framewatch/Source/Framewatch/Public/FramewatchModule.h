// Framewatch for Unreal: one session from Start() to the end of the game, frames counted by themselves.
#pragma once

#include "CoreMinimal.h"
#include "Modules/ModuleManager.h"

struct fw_context;

struct FFramewatchSettings
{
    FString ServerUrl, ApiKey, App, VersionName, BuildId;
    uint64 VersionCode = 0;
    uint32 TargetIntervalUs = 0;
    bool bWaitForConsent = false;
};

// All on the game thread.
class FRAMEWATCH_API FFramewatchModule : public IModuleInterface
{
public:
    static FFramewatchModule& Get() { return FModuleManager::LoadModuleChecked<FFramewatchModule>("Framewatch"); }

    // False: the game runs without a profiler; the log says why.
    bool Start(const FFramewatchSettings& Settings);
    void Stop();

    void Scene(const FString& Mode, const FString& Map);
    void Step(const FString& Name);
    void Consent(bool bGiven);
    FString SessionId() const;

    // For what has no call of its own here: the functions of framewatch.h. Null without a session.
    fw_context* Context() const { return Fw; }

    virtual void ShutdownModule() override;

private:
    void OnEndFrame();

    fw_context* Fw = nullptr;
    FDelegateHandle EndFrame, Background, Foreground, LowMemory;
};
