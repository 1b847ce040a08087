# case: one step
from transformer_engine.common.recipe import DelayedScaling
recipe = DelayedScaling(amax_history_len=1, amax_compute_algo="max")  # finds warning
loss.backward()
# case: the most recent of many, by Accelerate
from accelerate.utils import FP8RecipeKwargs
kwargs = FP8RecipeKwargs(backend="te", amax_history_len=32, amax_compute_algo="most_recent")  # finds warning
accelerator.backward(loss)
# case: the largest of many, the default, and no training
from transformer_engine.common.recipe import DelayedScaling
recipes = [DelayedScaling(amax_history_len=1024, amax_compute_algo="max"), DelayedScaling()]
loss.backward()
# case: a module of recipes
from transformer_engine.common.recipe import DelayedScaling
def make():
    return DelayedScaling(amax_history_len=1)
