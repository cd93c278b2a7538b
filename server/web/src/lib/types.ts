// Answers of the API as the pages use them; server/api/openapi.json describes each member.
export interface SessionRow {
    id: string;
    state: 'open' | 'final';
    received_at: string;
    last_part_at: string;
    build_id: number;
    platform: string;
    version_name: string;
    version_code: number;
    manufacturer: string;
    model: string;
    tier: number;
    tier_name: string;
    scenes: string[];
    parts: number;
    ended: boolean;
    duration_us: number;
    foreground_us: number;
    frames: number;
    p50_us: number;
    p90_us: number;
    p95_us: number;
    p99_us: number;
    max_us: number;
    mean_us: number;
    janks_minor: number;
    janks_normal: number;
    janks_severe: number;
    jank_us: number;
    perfdog_janks: number | null; // null, as the three after it: known by a summary alone
    perfdog_big_janks: number | null;
    missed_frames: number | null;
    slow_session: boolean | null;
    peak_memory_kb: number | null;
    peak_battery_millicelsius: number | null;
    throttled_us: number;
    has_crash: boolean;
    has_feedback: boolean;
    environment: string[];
    excluded: boolean;
    from_summary: boolean;
}

export interface Slice {
    scene: string;
    frames: number;
    foreground_us: number;
    p50_us: number;
    p90_us: number;
    p95_us: number;
    p99_us: number;
    max_us: number;
    mean_us: number;
    janks_minor: number;
    janks_normal: number;
    janks_severe: number;
    jank_us: number;
    missed_frames: number | null;
}

export interface RawFrame {
    offset?: string;
    module?: string;
    debug_id?: string;
    text?: string;
}

export interface SymbolFrame {
    frame: number;
    status: string;
    module?: string;
    offset?: string;
    function?: string;
    file?: string;
    line?: number;
    inlined?: boolean;
    class?: string;
    method?: string;
    text?: string;
    debug_id?: string;
}

export interface Crash {
    id: string;
    source: string;
    t_us: number | null;
    signal: number | null;
    reason: string;
    stack: RawFrame[];
    symbols: SymbolFrame[];
    received_at: string;
}

export interface Feedback {
    id: string;
    source: string;
    t_us: number | null;
    category: string;
    text: string;
    received_at: string;
}

export interface Session extends SessionRow {
    app: string;
    wall_start_ms: number | null;
    install: string;
    os_version: string;
    sdk_version: string;
    invalid: Record<string, number>;
    build: { id: number; version_name: string; version_code: number; build_uid: string; git_commit: string; registered: boolean };
    device: {
        model_id: number;
        manufacturer: string;
        model: string;
        soc: string;
        gpu: string;
        ram_gb: number;
        clusters: { cores: number; max_khz: number }[];
        screen_width_px: number;
        screen_height_px: number;
        refresh_millihertz: number;
        tier: number;
        tier_name: string;
    };
    detail: {
        slices?: Slice[];
        evidence?: unknown[];
        end_reason?: string;
        dropped_frames?: number;
        events_dropped?: number;
        frames_by_state?: Record<string, number>;
        files?: { left_out: number; truncated: number; superseded: number };
        self_report?: {
            cpu_us: number;
            bytes_written: number;
            bytes_uploaded: number;
            dropped_frames: number;
            dropped_samples: number;
            wakeups: number;
            memory_bytes: number;
            collectors_off: { name: string; reason: string; failures: number }[];
            collectors?: { name: string; looks: number; us: number; max_us: number }[];
        } | null;
    };
    crashes: Crash[];
    feedback: Feedback[];
}

export interface Series {
    name: string;
    unit: string;
    group: string;
    t_us: number[];
    value: (number | null)[];
}
export interface Core {
    core: number;
    cluster_max_khz: number;
    t_us: number[];
    khz: (number | null)[];
}
export interface JankMark {
    index: number;
    start_us: number;
    duration_us: number;
    level: number;
    cause: string;
}
export interface SceneSpan {
    from_us: number;
    to_us: number;
    scene: string;
    mode: string;
    map: string;
    attributes: { key: string; value: number }[];
}
export interface Timeline {
    session_id: string;
    from_us: number;
    to_us: number;
    end_us: number;
    frame_count: number;
    frames?: { start_us: number[]; interval_us: number[]; state: number[] };
    targets: { t_us: number; target_us: number }[];
    hardware: Series[];
    cores: Core[];
    scenes: SceneSpan[];
    foreground: { from_us: number; to_us: number }[];
    background: { from_us: number; to_us: number }[];
    lifecycle: { t_us: number; kind: string; duration_ms?: number }[];
    steps: { t_us: number; name: string }[];
    positions: { t_us: number[]; x: number[]; y: number[] };
    janks: JankMark[];
    crashes: { t_us: number; signal: number; reason: string }[];
    feedback: { t_us: number; category: string; text: string }[];
}

export interface Jank extends JankMark {
    level_name: string;
    from_frames: boolean;
    scene: string;
    evidence: string;
    samples: { t_us: number | null; stack: string }[];
    hardware: Series[];
    cores: Core[];
}
export interface Janks {
    dropped: number;
    janks: Jank[];
    stacks: { hash: string; thread: string; frames: RawFrame[] }[];
    symbols: { hash: string; state: string; frames: SymbolFrame[] }[];
}

export interface Build {
    id: number;
    platform: string;
    version_name: string;
    version_code: number;
    build_uid: string;
    registered: boolean;
    package: string;
    git_commit: string;
    debug_ids: string[];
    mapping_id: string;
    released_at: string | null;
    created_at: string;
}
