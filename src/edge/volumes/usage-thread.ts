// The entry point of the thread that measures one tree; it is started by usage-thread-client.ts and lies beside main in the
// bundle. Answers once, by what was counted or by what went wrong, and is ended by who asked.
import { parentPort, workerData } from 'node:worker_threads';
import { describeError } from '../../base/errors.ts';
import { errorCode } from '../host/syscalls-errors.ts';
import type { UsageAnswer } from './usage-thread-client.ts';
import { walkUsage } from './walk-usage.ts';

function measured(): UsageAnswer {
  try {
    return { usage: walkUsage(String(workerData)) };
  } catch (err) {
    return { code: errorCode(err), message: describeError(err) };
  }
}

// The list: nothing is handed over, everything is copied.
parentPort?.postMessage(measured(), []);
