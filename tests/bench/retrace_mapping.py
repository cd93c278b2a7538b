#!/usr/bin/env python3
"""A mapping as R8 writes them, and a stack of its frames: retrace_mapping.py MB FRAMES MAPPING STACK.

The same arguments give the same files. Classes have fields, methods with line ranges, and inline
stacks of up to four frames, of other classes; one method in ten is overloaded under one name."""
import random
import sys


def short(n):
    name = ""
    while True:
        name = chr(97 + n % 26) + name
        n //= 26
        if n == 0:
            return name
        n -= 1


def main():
    size, n_frames = int(float(sys.argv[1]) * 1e6), int(sys.argv[2])
    rng = random.Random(42)
    words = ["Player", "World", "Mesh", "Audio", "Quest", "Item", "Enemy", "Level", "Render",
             "Physics", "Network", "Session", "Shop", "Input", "Camera", "Scene", "Effect", "Save"]
    verbs = ["get", "set", "update", "load", "render", "apply", "on", "is", "create", "compute"]
    parts = ["Manager", "State", "Controller", "Factory", "Impl", "Listener", "Cache", "View"]
    types = ["int", "boolean", "float", "java.lang.String", "java.util.List", "byte[]",
             "com.acme.engine.core.Vector3", "androidx.lifecycle.LiveData"]

    def class_name(i):
        return "com.acme.%s.%s.%s%s%d" % (words[i % 18].lower(), parts[i // 18 % 8].lower(),
                                          words[i * 7 % 18], parts[i * 3 % 8], i)

    def method_name(k):
        return verbs[k % 10] + words[k * 5 % 18] + parts[k * 11 % 8]

    frames, written, i = [], 0, 0
    with open(sys.argv[3], "w") as out:
        written += out.write("# compiler: R8\n# compiler_version: 8.3.37\n# min_api: 24\n"
                             '# {"id":"com.android.tools.r8.mapping","version":"2.2"}\n'
                             "# pg_map_id: 0123abc\n")
        while written < size:
            obfuscated = short(i // 60) + "." + short(i % 60)
            lines = ["%s -> %s:" % (class_name(i), obfuscated),
                     '# {"id":"sourceFile","fileName":"%s.kt"}' % class_name(i).split(".")[-1]]
            for k in range(rng.randrange(1, 8)):
                lines.append("    %s %s%d -> %s" % (rng.choice(types), words[k], k, short(k)))
            for k in range(rng.randrange(2, 14)):
                name = short(k if k % 10 else 0)
                kind, arguments = rng.choice(types), ",".join(rng.sample(types, rng.randrange(4)))
                own, line, source = method_name(i + k), 1 + 1000 * k, rng.randrange(10, 900)
                for _ in range(rng.randrange(1, 9)):
                    span = rng.randrange(1, 6)
                    depth = rng.choice([0, 0, 0, 1, 1, 2, 3])
                    end = line + (span - 1 if depth == 0 else 0)
                    prefix = "    %d:%d:" % (line, end)
                    for d in range(depth):
                        other = rng.randrange(i + 1)
                        lines.append("%s%s %s.%s(%s):%d%s -> %s" % (
                            prefix, rng.choice(types), class_name(other), method_name(other + d),
                            rng.choice(types), source, ":%d" % source if d == 0 else "", name))
                        source += 3
                    if depth:
                        lines.append("%s%s %s(%s):%d -> %s" % (prefix, kind, own, arguments, source,
                                                               name))
                    else:
                        lines.append("%s%s %s(%s):%d:%d -> %s" % (
                            prefix, kind, own, arguments, source, source + span - 1, name))
                    if rng.random() < 0.02:
                        frames.append("\tat %s.%s(SourceFile:%d)\n" % (
                            obfuscated, name, rng.randrange(line, end + 1)))
                    line, source = end + 1, source + span + rng.randrange(3)
            written += out.write("\n".join(lines) + "\n")
            i += 1
    with open(sys.argv[4], "w") as out:
        for k in range(n_frames):
            if k % 20 == 0:
                out.write("java.lang.IllegalStateException: at frame %d\n" % k)
            out.write(frames[rng.randrange(len(frames))])
    print("%d classes, %.1f MB, %d frames" % (i, written / 1e6, n_frames))


main()
