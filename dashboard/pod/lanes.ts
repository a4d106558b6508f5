// Lays the stages of a start out on a time axis. Pure.
import type { PodStart, StageName, StartStage } from '../../src/api/ports/node-page.ts';

/** What spends the time: it gives the bar its colour. */
export type Spender = 'kubelet' | 'image' | 'runtime' | 'app';

const spenders: Readonly<Record<StageName, Spender>> = {
  admit: 'kubelet',
  volumes: 'kubelet',
  sandbox: 'runtime',
  pull: 'image',
  create: 'runtime',
  start: 'runtime',
  postStart: 'app',
  run: 'app',
  'first-probe': 'app',
  ready: 'app',
};

export const spenderWords: Readonly<Record<Spender, string>> = {
  kubelet: 'Kubelet',
  image: 'Image pull',
  runtime: 'Runtime',
  app: 'Application',
};

const stageWords: Readonly<Record<StageName, string>> = {
  admit: 'Admit',
  volumes: 'Volumes',
  sandbox: 'Sandbox, network',
  pull: 'Pull',
  create: 'Create',
  start: 'Start',
  postStart: 'postStart hook',
  run: 'Run to completion',
  'first-probe': 'First probe',
  ready: 'Until ready',
};

export interface Lane {
  readonly stage: StartStage;
  readonly words: string;
  readonly spender: Spender;
  /** Shares of the axis, 0 to 1. */
  readonly left: number;
  readonly width: number;
  readonly tookMs: number;
  /** After the beginning of the start. */
  readonly afterMs: number;
  readonly inProgress: boolean;
  /** The first lane of its container, where its name is shown. */
  readonly isFirst: boolean;
}

export interface Axis {
  readonly spanMs: number;
  readonly ticks: readonly number[];
}

interface Waterfall {
  readonly axis: Axis;
  readonly lanes: readonly Lane[];
}

export function layOut(start: PodStart, nowMs: number): Waterfall {
  const { beginMs, readyMs, stages } = start;
  const endOf = (stage: StartStage) => Math.max(stage.beginMs, stage.endMs ?? nowMs);
  const lastMs = stages.reduce((last, stage) => Math.max(last, endOf(stage)), readyMs ?? beginMs);
  const spanMs = Math.max(1, lastMs - beginMs);
  const ordered = stages
    .map((stage, at) => ({ stage, at, group: groupBegin(stages, stage) }))
    .sort(
      (a, b) =>
        Number(a.stage.container !== undefined) - Number(b.stage.container !== undefined) ||
        a.group - b.group ||
        compareText(a.stage.container, b.stage.container) ||
        a.stage.beginMs - b.stage.beginMs ||
        a.at - b.at,
    )
    .map(({ stage }) => stage);
  const lanes = ordered.map((stage, at): Lane => {
    const endMs = endOf(stage);
    const left = clamp((stage.beginMs - beginMs) / spanMs);
    return {
      stage,
      words: stageWords[stage.stage] ?? stage.stage,
      spender: spenders[stage.stage] ?? 'kubelet',
      left,
      width: clamp((endMs - beginMs) / spanMs) - left,
      tookMs: endMs - stage.beginMs,
      afterMs: stage.beginMs - beginMs,
      inProgress: stage.endMs === undefined,
      isFirst: at === 0 || ordered[at - 1]?.container !== stage.container,
    };
  });
  return { axis: { spanMs, ticks: ticksOf(spanMs) }, lanes };
}

/** Containers in the order in which their first stage began. */
function groupBegin(stages: readonly StartStage[], { container }: StartStage): number {
  return stages.reduce(
    (first, stage) => (stage.container === container ? Math.min(first, stage.beginMs) : first),
    Number.POSITIVE_INFINITY,
  );
}

function compareText(a = '', b = ''): number {
  return a < b ? -1 : Number(a > b);
}

function clamp(share: number): number {
  return Math.min(1, Math.max(0, share));
}

/** Three to six round marks, the first at 0. */
function ticksOf(spanMs: number): readonly number[] {
  const rough = spanMs / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((each) => each >= rough) ?? rough;
  return Array.from({ length: Math.floor(spanMs / step) + 1 }, (_, at) => at * step);
}
