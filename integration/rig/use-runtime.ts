// Loaded by every test process: puts the container runtime that RIG_CONTAINERD selects into PATH.
import { selectRuntime } from '../../tools/runtimes/select-runtime.ts';
import { repositoryRoot } from './repository.ts';

selectRuntime(repositoryRoot());
