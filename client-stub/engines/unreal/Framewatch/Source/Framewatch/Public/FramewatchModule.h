// Framewatch for Unreal: one session from Start() to the end of the game, frames counted by themselves.
#pragma once

#include "CoreMinimal.h"
#include "Misc/CoreDelegates.h"
#include "Modules/ModuleManager.h"
#include "Templates/Function.h"

#include <atomic>

struct fw_context;
struct fw_evidence;
struct fw_host_values;

struct FFramewatchSettings
{
    FString ServerUrl, ApiKey, App, VersionName, BuildId;
    uint64 VersionCode = 0;
    uint32 TargetIntervalUs = 0;
    bool bWaitForConsent = false;

    // As in framewatch.h, both optional, both called on the SDK's threads. HostValues finds battery, charging and
    // thermal status filled in, as far as the engine knows them.
    TFunction<void(fw_host_values&)> HostValues;
    TFunction<size_t(fw_evidence*, size_t)> Environment;
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
    void OnTemperature(FCoreDelegates::ETemperatureSeverity Severity);
    static void TellHostValues(void* Module, fw_host_values* Values);
    static size_t TellEnvironment(void* Module, fw_evidence* Rows, size_t Max);

    fw_context* Fw = nullptr;
    FFramewatchSettings Given;
    std::atomic<int32> ThermalStatus{-1};
    FDelegateHandle EndFrame, Background, Foreground, LowMemory, Temperature;
};
